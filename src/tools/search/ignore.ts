import { closeSync, constants, existsSync, fstatSync, lstatSync, openSync, readSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { compileGlob } from '../../core/text/glob.ts';
import { contains } from '../../core/text/path.ts';
import { errnoOf } from '../../platform/runtime/system.ts';

/** What the user says to everybody, and what to models only. */
const SHARED_FILE = '.gitignore';
const OWN_FILE = '.geminiignore';
/** Both, in the order of their names: where nobody has listed the directory, they are looked for. */
const IGNORE_FILES = [OWN_FILE, SHARED_FILE].map((name) => ({ name }));
const MAX_BYTES = 1_000_000;

/** The ignore files that are in force in a directory. */
export interface IgnoreRules {
  /** Whether they leave a path out, given below the start of the walk, with slashes. */
  ignores(below: string, kind: 'file' | 'directory'): boolean;
  readonly levels: readonly Level[];
  /** Whether `.gitignore` counts; `.geminiignore` always does. */
  readonly isShared: boolean;
}

/** The rules of the directories above a start. */
interface RulesAbove extends IgnoreRules {
  /** Whether a `.geminiignore` leaves the start itself out. */
  readonly isStartOut: boolean;
  /** Whether any ignore file does, below the workspace: inside it one is where one wants to be. */
  readonly isStartIgnored: boolean;
  /** A directory above whose ignore files cannot be asked; undefined: all can. */
  readonly unreadable: string | undefined;
}

/** No rules but the one that leaves `.git` out. */
export const NO_RULES: IgnoreRules = rulesOf([], true);

interface Level extends DirectoryFiles {
  /** The path as that file sees it. */
  readonly seen: (below: string) => string;
}

interface DirectoryFiles {
  /** What both files of the directory say together. */
  readonly both: IgnoreFile;
  /** What `.geminiignore` says by itself. */
  readonly own: IgnoreFile;
}

/** Like git: the deepest file that has a word to say has the last one. But no `.gitignore` lifts a `.geminiignore`. */
function rulesOf(levels: readonly Level[], isShared: boolean): IgnoreRules {
  const isOut = (which: keyof DirectoryFiles, below: string, kind: 'file' | 'directory'): boolean => {
    for (const level of levels) {
      const verdict = level[which].verdict(level.seen(below), kind);
      if (verdict !== undefined) return verdict === 'ignored';
    }
    return false;
  };
  return {
    levels,
    isShared,
    ignores: (below, kind) =>
      below === '.git' ||
      below.endsWith('/.git') ||
      isOut('own', below, kind) ||
      (isShared && isOut('both', below, kind)),
  };
}

/**
 * The rules in force in a directory of a walk: those above it, and its own. Undefined if its own cannot be read: then
 * nobody can say what is to be left out, and nothing of it may be shown. `entries` are those of the directory, in order.
 */
export function rulesWithin(
  above: IgnoreRules,
  below: string,
  address: string,
  entries: readonly { readonly name: string }[] = IGNORE_FILES,
): IgnoreRules | undefined {
  const files = readIgnoreFiles(address, {
    hasShared: above.isShared && isAmong(entries, SHARED_FILE),
    hasOwn: isAmong(entries, OWN_FILE),
  });
  if (files === undefined) return undefined;
  if (files === NOTHING) return above;
  const cut = below === '' ? 0 : below.length + 1;
  return rulesOf([{ ...files, seen: (path) => path.slice(cut) }, ...above.levels], above.isShared);
}

/** The entries are in order. */
function isAmong(entries: readonly { readonly name: string }[], wanted: string): boolean {
  for (const { name } of entries) {
    if (name === wanted) return true;
    if (name > wanted) return false;
  }
  return false;
}

/**
 * The rules of the directories above `start`, up to the top of the workspace, and of its repository if that is higher. If
 * a `.gitignore` leaves the start itself out, it was named on purpose, and those above it do not count. Both paths are
 * free of links.
 */
export function rulesAbove(start: string, workspace: string, isShared = true): RulesAbove {
  const repository = repositoryOf(start) ?? workspace;
  const top = repository.length < workspace.length ? repository : workspace;
  const steps = top === start ? [] : relative(top, start).split(sep);
  let found: readonly (DirectoryFiles & { readonly from: number })[] = [];
  let isStartOut = false;
  let isStartIgnored = false;
  let unreadable: string | undefined;
  const rulesAt = (index: number, isAll: boolean): IgnoreRules => {
    const levels = found.map(({ from, ...files }) => ({
      ...files,
      seen: (below: string) => [...steps.slice(from, index), below].join('/'),
    }));
    return rulesOf(levels, isAll);
  };
  for (const [from, step] of steps.entries()) {
    const directory = join(top, ...steps.slice(0, from));
    // What is above a repository says nothing to git.
    const hasShared = isShared && directory.length >= repository.length;
    const files =
      readIgnoreFiles(directory, { hasShared, hasOwn: true }) ??
      readIgnoreFiles(directory, { hasShared: false, hasOwn: true });
    if (files !== undefined && files !== NOTHING) found = [{ ...files, from }, ...found];
    // A word that cannot be read may be about the start.
    if (files === undefined) unreadable ??= directory;
    isStartOut ||= files === undefined;
    isStartOut ||= step !== '.git' && rulesAt(from, false).ignores(step, 'directory');
    if (!rulesAt(from, isShared).ignores(step, 'directory')) continue;
    isStartIgnored ||= !contains(join(directory, step), workspace);
    found = found.map((level) => ({ ...level, both: EMPTY }));
  }
  return { ...rulesAt(steps.length, isShared), isStartOut, isStartIgnored, unreadable };
}

/** Whether a `.gitignore`, or more than one, is among them. */
export function hasSharedLevels({ levels }: IgnoreRules): boolean {
  return levels.some(({ both }) => both !== EMPTY);
}

function repositoryOf(directory: string): string | undefined {
  for (let path = directory; ; path = dirname(path)) {
    if (existsSync(join(path, '.git'))) return path;
    if (dirname(path) === path) return undefined;
  }
}

const EMPTY: IgnoreFile = { verdict: () => undefined };
const NOTHING: DirectoryFiles = { both: EMPTY, own: EMPTY };

/** Undefined if they cannot be read or are too large. */
function readIgnoreFiles(
  address: string,
  { hasShared, hasOwn }: { readonly hasShared: boolean; readonly hasOwn: boolean },
): DirectoryFiles | undefined {
  const shared = hasShared ? readSmallFile(join(address, SHARED_FILE)) : '';
  const own = hasOwn ? readSmallFile(join(address, OWN_FILE)) : '';
  if (shared === undefined || own === undefined) return undefined;
  if (shared.trim() === '' && own.trim() === '') return NOTHING;
  const both = parseIgnoreFile(`${shared}\n${own}`);
  const alone = own.trim() === '' ? EMPTY : parseIgnoreFile(own);
  return both === undefined || alone === undefined ? undefined : { both, own: alone };
}

/** Empty if it is no regular file; undefined if it is too large. */
function readSmallFile(path: string): string | undefined {
  let descriptor: number | undefined;
  try {
    // Most are not there, and an exception for each would cost more than reading one.
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return '';
    descriptor = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0));
    const status = fstatSync(descriptor);
    if (!status.isFile()) return '';
    if (status.size > MAX_BYTES) return undefined;
    const buffer = Buffer.alloc(status.size);
    return buffer.toString('utf8', 0, readSync(descriptor, buffer, 0, status.size, 0));
  } catch (thrown) {
    return errnoOf(thrown) === 'EACCES' ? undefined : '';
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Says of single paths below a directory whether ignore files leave them, or a directory they are in, out. */
export function ignoredPaths(start: string, above: IgnoreRules): (below: string) => boolean {
  const known = new Map<string, IgnoreRules | undefined>();
  const rulesIn = (directory: string): IgnoreRules | undefined => {
    if (known.has(directory)) return known.get(directory);
    const parent = directory === '' ? above : rulesIn(parentOf(directory));
    const isOut = directory !== '' && parent?.ignores(directory, 'directory') !== false;
    const rules = parent === undefined || isOut ? undefined : rulesWithin(parent, directory, join(start, directory));
    known.set(directory, rules);
    return rules;
  };
  return (below) => rulesIn(parentOf(below))?.ignores(below, 'file') !== false;
}

function parentOf(below: string): string {
  return below.slice(0, Math.max(0, below.lastIndexOf('/')));
}

/** The rules of the ignore files of one directory. */
interface IgnoreFile {
  /** What they say of a path below that directory, with slashes; undefined if nothing. */
  verdict(path: string, kind: 'file' | 'directory'): 'ignored' | 'kept' | undefined;
}

interface Rule {
  /** Its place in the file: the last rule that matches wins. */
  readonly order: number;
  readonly isNegated: boolean;
  readonly isForDirectories: boolean;
  /** Absent: the rule is found by its name. */
  readonly matches?: (path: string, name: string) => boolean;
}

const MAX_PATTERNS = 2000;
const MAX_LENGTH = 1000;

/**
 * Reads what `.gitignore` holds: https://git-scm.com/docs/gitignore. Undefined if there are so many patterns, or such
 * long ones, that asking them would take long; then nobody can say what is ignored. Never throws, and no pattern takes long.
 */
export function parseIgnoreFile(text: string): IgnoreFile | undefined {
  const byName = new Map<string, Rule[]>();
  const patterns: Rule[] = [];
  for (const [order, line] of text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .entries()) {
    const read = readLine(line);
    if (read === undefined) continue;
    const rule = { order, isNegated: read.isNegated, isForDirectories: read.isForDirectories };
    if (!read.isAnchored && !/[*?[\\]/.test(read.pattern)) {
      const named = byName.get(read.pattern);
      if (named === undefined) byName.set(read.pattern, [rule]);
      else named.push(rule);
    } else if (patterns.length === MAX_PATTERNS || read.pattern.length > MAX_LENGTH) return undefined;
    else patterns.push({ ...rule, matches: matcherOf(read) });
  }
  patterns.reverse();
  return {
    verdict: (path, kind) => {
      const name = path.slice(path.lastIndexOf('/') + 1);
      const fits = (rule: Rule): boolean => kind === 'directory' || !rule.isForDirectories;
      const named = byName.get(name)?.findLast(fits);
      const found = patterns.find(
        (rule) => rule.order < (named?.order ?? -1) || (fits(rule) && rule.matches?.(path, name) === true),
      );
      const last = found !== undefined && found.order > (named?.order ?? -1) ? found : named;
      return last === undefined ? undefined : last.isNegated ? 'kept' : 'ignored';
    },
  };
}

interface Line {
  readonly isNegated: boolean;
  readonly isForDirectories: boolean;
  readonly isAnchored: boolean;
  readonly pattern: string;
}

function readLine(line: string): Line | undefined {
  const kept = withoutTrailingSpaces(line);
  if (kept === '' || kept.startsWith('#')) return undefined;
  const isNegated = kept.startsWith('!');
  const body = isNegated ? kept.slice(1) : kept;
  const isForDirectories = body.endsWith('/');
  const path = isForDirectories ? body.slice(0, -1) : body;
  const pattern = path.replace(/^\//, '');
  if (pattern === '') return undefined;
  return { isNegated, isForDirectories, isAnchored: path.includes('/'), pattern };
}

function withoutTrailingSpaces(line: string): string {
  let end = line.length;
  while (line[end - 1] === ' ' && line[end - 2] !== '\\') end -= 1;
  return line.slice(0, end);
}

function matcherOf({ pattern, isAnchored }: Line): (path: string, name: string) => boolean {
  const glob = compileGlob(pattern, { isCaseSensitive: true, hasBraces: false });
  return isAnchored ? (path) => glob.matches(path) : (_, name) => glob.matches(name);
}
