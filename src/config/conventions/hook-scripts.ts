import { basename, join, relative, resolve } from 'node:path';
import { AppError } from '../../core/error.ts';
import { isObject, tryParseJson } from '../../core/json.ts';
import { contains, leadsAway, toSlashes } from '../../core/text/path.ts';
import { isDirectory, realPath } from '../../platform/files/path.ts';
import { listPaths, readBytes } from '../../platform/files/read.ts';
import { tryReadSmallFile } from '../../platform/files/small-file.ts';
import { sha256 } from '../../platform/runtime/native.ts';

const MAX_WORDS = 150;
/** Of those that a command names, such as by `cd`. */
const MAX_DIRECTORIES = 10;
const MAX_SCRIPTS = 200;
const MAX_BYTES = 20_000_000;

/** What interpreters add to a name: `node tools/check`, `python tools`. */
const ENDINGS = [
  '.js',
  '.cjs',
  '.mjs',
  '.ts',
  '.cts',
  '.mts',
  '.json',
  '.node',
  '.py',
  '.sh',
  '.rb',
  '.pl',
  '.ps1',
  '.cmd',
  '.bat',
  '.exe',
];
/** What stands for a directory that is run. */
const ENTRIES = [
  'package.json',
  'index.js',
  'index.cjs',
  'index.mjs',
  'index.json',
  'index.ts',
  '__main__.py',
  '__init__.py',
];

/** Where programs find what a project wants them to run, without a word that names it. */
const PROJECT_FILES: ReadonlyMap<string, readonly string[]> = new Map([
  ['make', ['Makefile', 'makefile', 'GNUmakefile']],
  ['just', ['justfile', 'Justfile', '.justfile']],
  ['task', ['Taskfile.yml', 'Taskfile.yaml']],
  ['npm', ['package.json']],
  ['npx', ['package.json']],
  ['pnpm', ['package.json']],
  ['yarn', ['package.json']],
  ['bun', ['package.json']],
  ['bunx', ['package.json']],
  ['rake', ['Rakefile', 'rakefile']],
  ['composer', ['composer.json']],
]);

export interface Script {
  /** `a.sh`, or `a.sh -> /elsewhere/b.sh` for a link. */
  readonly path: string;
  readonly hash: string;
}

/** The files of the folder that a command names, as a shell or an interpreter would find them. Not every one is found: a command can build its path. */
export async function hashScripts(
  command: string,
  folder: string,
): Promise<{ readonly scripts: readonly Script[]; readonly fault?: string }> {
  const { files, isWhole } = findScripts(command, folder);
  if (!isWhole) return { scripts: [], fault: 'it names too many files to review' };
  const scripts: Script[] = [];
  for (const { path, real } of files) {
    const isInside = contains(folder, real);
    const name = toSlashes(relative(folder, isInside ? real : path));
    try {
      const bytes = await readBytes(real, { maxBytes: MAX_BYTES, tooLarge: largeScriptError, links: 'never' });
      scripts.push({ path: isInside ? name : `${name} -> ${toSlashes(real)}`, hash: sha256(bytes) });
    } catch (thrown) {
      return { scripts: [], fault: `${name} cannot be reviewed: ${AppError.from(thrown).message}` };
    }
  }
  return { scripts };
}

function largeScriptError(): AppError {
  return new AppError('config', `it is larger than ${MAX_BYTES / 1_000_000} MB`);
}

/** `folder` without links. */
export function findScripts(
  command: string,
  folder: string,
): { readonly files: readonly { readonly path: string; readonly real: string }[]; readonly isWhole: boolean } {
  const all = splitHookWords(command, folder);
  const words = all.slice(0, MAX_WORDS);
  const isInside = (path: string): boolean => contains(folder, path);
  const bases = [folder];
  // A command may go down step by step: `cd tools && cd linux`.
  for (const base of bases) {
    const paths = words.map((word) => resolve(base, word)).filter((path) => isInside(path) && !bases.includes(path));
    if (bases.length <= MAX_DIRECTORIES) bases.push(...new Set(paths.filter(isDirectory)));
  }
  const found = new Map<string, { path: string; real: string }>();
  for (const path of new Set(
    bases.slice(0, MAX_DIRECTORIES).flatMap((base) => words.flatMap((word) => expandWord(word, base, folder))),
  )) {
    const real = realPath(path);
    if (real === undefined || !(isInside(path) || isInside(real)) || isDirectory(real)) continue;
    found.set(isInside(real) ? real : path, { path, real });
  }
  const files = [...found.values()].slice(0, MAX_SCRIPTS);
  return { files, isWhole: files.length === found.size && all.length <= MAX_WORDS && bases.length <= MAX_DIRECTORIES };
}

/** Words, also what is in quotes, after an option's letter, and between the colons of a PATH. */
function splitHookWords(command: string, folder: string): readonly string[] {
  const plain = command
    .replace(/\$\{?(?:GEMINI_PROJECT_DIR|CLAUDE_PROJECT_DIR|GEMINI_CWD|PWD|workspacePath)\}?/g, () => folder)
    // What it writes, such as a log, differs after each run.
    .replace(/>{1,2}\|?\s*[^\s;|&()<>]+/g, ' ');
  const quoted = [...plain.matchAll(/"([^"]*)"|'([^']*)'/g)].map(([, double, single]) => double ?? single ?? '');
  const bare = plain.replace(/["']/g, '').split(/[\s;|&()<>=,`]+/);
  const parts = bare.flatMap((word) => (/^[a-z]:[\\/]/i.test(word) ? [] : word.split(':')));
  const values = bare.flatMap((word) => /^-[a-z](.+)$/i.exec(word)?.[1] ?? []);
  const whole = [...plain.matchAll(/(?:\\.|[^\\\s;|&()<>"'`])+/g)].map(([word]) => word);
  const unescaped = whole.map((word) => word.replace(/\\(.)/g, '$1'));
  const braced = whole.flatMap((word) => {
    const [, before = '', list, after = ''] = /^([^{]*)\{([^{}]*)\}([^{]*)$/.exec(word) ?? [];
    return list?.includes(',') ? list.split(',').map((each) => `${before}${each}${after}`) : [];
  });
  // What a variable or a command stands for may be any directory.
  const built = [...plain.replace(/"/g, '').matchAll(/(?:\$\w+|\$\{[^{}]*\}|\$\([^()]*\)|~\+)(\/[^\s;|&()<>"'`$]+)/g)];
  const anywhere = built.flatMap(([, tail = '']) => [`.${tail}`, `*${tail}`]);
  return [...new Set([bare, quoted, parts, values, unescaped, braced, anywhere].flat())].filter(
    (word) => word !== '' && word.length < 1000 && !leadsAway(word, [folder]),
  );
}

/** The paths that a word may stand for. */
function expandWord(word: string, base: string, folder: string): readonly string[] {
  if (/[*?[]/.test(word)) return expandPattern(word, base, folder);
  const path = resolve(base, word);
  const module = /^\w+(?:\.\w+)+$/.test(word) ? [resolve(base, word.replaceAll('.', '/'))] : [];
  const project = PROJECT_FILES.get(basename(word)) ?? [];
  return [path, ...module, ...project.map((name) => resolve(base, name))].flatMap((each) => {
    if (!contains(folder, each)) return [each];
    if (!isDirectory(each)) return [each, ...ENDINGS.map((ending) => `${each}${ending}`)];
    const entries = ENTRIES.map((name) => join(each, name));
    const { main } = toPackage(tryReadSmallFile(join(each, 'package.json')));
    const started = typeof main === 'string' ? resolve(each, main) : each;
    return [...entries, started, ...ENDINGS.map((ending) => `${started}${ending}`), join(started, 'index.js')];
  });
}

function toPackage(text = ''): { readonly main?: unknown } {
  const value = tryParseJson(text);
  return isObject(value) ? value : {};
}

/** As a shell expands `*`, `?` and `[…]`, within the folder; more than it would is compared, never less. */
function expandPattern(pattern: string, base: string, folder: string): readonly string[] {
  const segments = resolve(base, pattern).split(/[\\/]/);
  const fixed = segments.findIndex((segment) => /[*?[]/.test(segment));
  let found = [segments.slice(0, fixed).join('/') || '/'];
  for (const segment of segments.slice(fixed)) {
    const matches = createSegmentMatcher(segment);
    found = found
      .filter((directory) => contains(folder, directory))
      .flatMap((directory) => listPaths(directory))
      .filter((path) => matches(basename(path)))
      .slice(0, MAX_SCRIPTS + 1);
  }
  return found;
}

/** In a time that grows with the length of a name, whatever the pattern of a stranger is. A class counts as `*`. */
function createSegmentMatcher(segment: string): (name: string) => boolean {
  const pieces = segment
    .split(/(?:\*|\[[^\]]*\]?)+/)
    .map((piece) => piece.replace(/[.+^${}()|\\\]]/g, '\\$&').replaceAll('?', '.'));
  const [first = '', ...others] = pieces;
  const last = others.pop();
  if (last === undefined) return (name) => new RegExp(`^${first}$`, 's').test(name);
  const start = new RegExp(`^${first}`, 's');
  const middles = others.map((piece) => new RegExp(piece, 's'));
  const end = new RegExp(`${last}$`, 's');
  return (name) => {
    let left = name;
    for (const piece of [start, ...middles]) {
      const found = piece.exec(left);
      if (found === null) return false;
      left = left.slice(found.index + found[0].length);
    }
    return end.test(left);
  };
}
