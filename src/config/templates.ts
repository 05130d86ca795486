import { basename, join } from 'node:path';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { isDirectory, realPath } from '../platform/files/path.ts';
import { inspectPath, readDirectory } from '../platform/files/read.ts';
import { readSmallFile } from '../platform/files/small-file.ts';
import { BUILT_IN_TEMPLATES } from './builtin-templates.ts';
import { readSetting } from './keys.ts';
import { decideTrust, readTrustRecords } from './trust.ts';

export interface Template {
  readonly name: string;
  /** `built-in` if gmn comes with it. */
  readonly file: string;
  /** `markdown` is gmn's own format, `command` a custom command of the official CLI. */
  readonly kind: 'markdown' | 'command';
  readonly description?: string;
  readonly body: string;
  readonly defaults: ReadonlyMap<string, string>;
}

interface TemplateDirectory {
  readonly directory: string;
  readonly kind: Template['kind'];
  readonly scope: 'user' | 'workspace' | 'built-in';
  readonly ignored?: string;
}

/** Not read yet. */
export type FoundTemplate = TemplateSource & { readonly place: TemplateDirectory };

interface TemplateSource extends Pick<Template, 'name' | 'file' | 'kind'> {
  /** Absent: it is in the file. */
  readonly text?: string;
}

const BUILT_IN_PLACE: TemplateDirectory = { directory: 'built-in', kind: 'markdown', scope: 'built-in' };

const EXTENSIONS = { markdown: '.md', command: '.toml' } as const;

/** Enough for names like `git:commit`; also ends cycles of links. */
const MAX_DEPTH = 4;

/** In order of precedence: the folder's, if trusted, then the user's. */
export async function listTemplateDirectories(app: App): Promise<readonly TemplateDirectory[]> {
  const homes = app.homes();
  const of = (home: string, folder: string, scope: TemplateDirectory['scope']) =>
    ({ directory: join(home, folder), scope }) as const;
  const own = [
    { ...of(homes.gmn, 'templates', 'user'), kind: 'markdown' },
    { ...of(homes.gemini, 'commands', 'user'), kind: 'command' },
  ] as const;
  const folders = [
    { ...of(join(app.cwd, '.gmn'), 'templates', 'workspace'), kind: 'markdown' },
    { ...of(join(app.cwd, '.gemini'), 'commands', 'workspace'), kind: 'command' },
  ] as const;
  // In the home directory, the folder's and the user's are the same.
  const isOwn = ({ directory }: TemplateDirectory): boolean =>
    own.some((place) => place.directory === directory || realPath(place.directory) === realPath(directory));
  const shared = folders.filter((place) => isDirectory(place.directory) && !isOwn(place));
  const ignored = shared.length === 0 ? undefined : await findProjectDistrust(app);
  return [...shared.map((place) => (ignored === undefined ? place : { ...place, ignored })), ...own];
}

async function findProjectDistrust(app: App): Promise<string | undefined> {
  const homes = app.homes();
  const isEnabled = readSetting((await app.settings()).document ?? {}, 'security.folderTrust.enabled') ?? true;
  const decision = decideTrust({ ...app, homes, isEnabled, records: readTrustRecords(homes) });
  return decision.isTrusted ? undefined : decision.why;
}

/** Sorted by name, built-in ones included. If several have one name, the first that is not ignored wins. */
export async function findTemplates(places: readonly TemplateDirectory[]): Promise<readonly FoundTemplate[]> {
  const found = new Map<string, FoundTemplate>();
  const add = (template: FoundTemplate): void => {
    const before = found.get(template.name);
    if (before === undefined || before.place.ignored !== undefined) found.set(template.name, template);
  };
  for (const place of places) {
    for (const template of await walkTemplates(place, place.directory, [])) add(template);
  }
  for (const [name, text] of Object.entries(BUILT_IN_TEMPLATES)) {
    add({ name, text, file: BUILT_IN_PLACE.directory, kind: 'markdown', place: BUILT_IN_PLACE });
  }
  return [...found.values()].sort((left, right) => (left.name < right.name ? -1 : 1));
}

async function walkTemplates(
  place: TemplateDirectory,
  directory: string,
  path: readonly string[],
): Promise<readonly FoundTemplate[]> {
  if (path.length > MAX_DEPTH || !isDirectory(directory)) return [];
  const found: FoundTemplate[] = [];
  for (const { name, kind } of await readDirectory(directory)) {
    const file = join(directory, name);
    // Users may keep their templates behind links; a folder's must not lead elsewhere.
    const real = kind === 'link' && place.scope === 'user' ? (await inspectPath(file))?.kind : kind;
    const ending = EXTENSIONS[place.kind];
    if (real === 'directory') found.push(...(await walkTemplates(place, file, [...path, name])));
    else if (real === 'file' && name.endsWith(ending) && name !== ending) {
      found.push({ name: [...path, name.slice(0, -ending.length)].join(':'), file, kind: place.kind, place });
    }
  }
  return found;
}

/** Throws AppError `config` if the file is missing or the template empty. */
export function readTemplate({ name, file, kind, text: given }: TemplateSource): Template {
  const text = given ?? readSmallFile(file);
  if (text === undefined) throw new AppError('config', `there is no file ${file}`, { hint: 'Try: gmn templates list' });
  const { body, description, defaults } = kind === 'command' ? parseCommand(text, file) : parseMarkdown(text);
  if (body.trim() === '') {
    throw new AppError('config', `${file}: the template is empty`, {
      hint: kind === 'command' ? 'It needs a line such as: prompt = "Explain {{args}}"' : 'Write the prompt into it.',
    });
  }
  return { name, file, kind, body, defaults, ...(description ? { description } : {}) };
}

type Parsed = Pick<Template, 'body' | 'defaults'> & { readonly description?: string | undefined };

function parseCommand(text: string, file: string): Parsed {
  const strings = parseTomlStrings(text, file);
  return { body: strings.get('prompt') ?? '', description: strings.get('description'), defaults: new Map() };
}

function parseMarkdown(text: string): Parsed {
  const [head, front = ''] = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/.exec(text) ?? [];
  const lines = front.split(/\r?\n/).flatMap((line) => {
    const [, key, value = ''] = /^([\w-]+):(.*)$/.exec(line) ?? [];
    return key === undefined ? [] : [[key, value.trim().replace(/^(["'])(.*)\1$/, '$2')] as const];
  });
  const defaults = new Map(lines);
  const description = defaults.get('description');
  defaults.delete('description');
  return { body: text.slice(head?.length ?? 0).replace(/\r?\n$/, ''), description, defaults };
}

export function toTemplate(file: string): TemplateSource {
  return { name: basename(file), file, kind: file.endsWith(EXTENSIONS.command) ? 'command' : 'markdown' };
}

const ESCAPES: Readonly<Record<string, string>> = {
  b: '\b',
  t: '\t',
  n: '\n',
  f: '\f',
  r: '\r',
  e: '\u001b',
  '"': '"',
  '\\': '\\',
};

/** In a basic string, backslashes are escapes. */
const STRING_KINDS = [
  { start: '"""', whole: /^"""\n?((?:[^\\"]|\\[\s\S]|"(?!""))*(?:"{1,2}(?="""))?)"""/, isBasic: true },
  { start: "'''", whole: /^'''\n?((?:[^']|'(?!''))*(?:'{1,2}(?='''))?)'''/, isBasic: false },
  { start: '"', whole: /^"((?:[^\\"\n]|\\.)*)"/, isBasic: true },
  { start: "'", whole: /^'([^'\n]*)'/, isBasic: false },
] as const;

/**
 * The strings that a TOML document sets outside tables; other values are skipped. https://toml.io/en/v1.0.0 Throws
 * AppError `config`, with `file:line`, for an unterminated string or a line that is not TOML.
 */
export function parseTomlStrings(text: string, file: string): ReadonlyMap<string, string> {
  const source = text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
  const found = new Map<string, string>();
  let at = 0;
  const tomlError = (why: string): AppError => {
    const line = source.slice(0, at).split('\n').length;
    return new AppError('config', `${file}:${line}: ${why}`, { hint: 'Fix that file: https://toml.io' });
  };
  while (at < source.length) {
    const rest = source.slice(at);
    const blank = /^(?:[ \t]*(?:#[^\n]*)?\n|[ \t]*(?:#[^\n]*)?$)/.exec(rest)?.[0];
    if (blank !== undefined && blank !== '') {
      at += blank.length;
      continue;
    }
    if (blank === '' || /^[ \t]*\[/.test(rest)) break;
    const [head, bare, quoted] = /^[ \t]*(?:([\w.-]+)|"([^"\\\n]*)")[ \t]*=[ \t]*/.exec(rest) ?? [];
    if (head === undefined) throw tomlError('this is not key = value');
    const value = rest.slice(head.length);
    const kind = STRING_KINDS.find(({ start }) => value.startsWith(start));
    const string = kind?.whole.exec(value);
    if (kind !== undefined && !string) throw tomlError('this string does not end');
    if (kind !== undefined && string) found.set(bare ?? quoted ?? '', unescapeString(string[1] ?? '', kind.isBasic));
    at += head.length + (string?.[0].length ?? /^[^\n]*/.exec(value)?.[0].length ?? 0);
    at += /^[ \t]*(?:#[^\n]*)?/.exec(source.slice(at))?.[0].length ?? 0;
    if (at < source.length && source[at] !== '\n') throw tomlError('there is more text after this value');
  }
  return found;
}

function unescapeString(text: string, isBasic: boolean): string {
  if (!isBasic) return text;
  return text.replace(
    /\\(?:u([\da-fA-F]{4})|U([\da-fA-F]{8})|([ \t]*\n\s*)|([\s\S]))/g,
    (all, short?: string, long?: string, joint?: string, letter?: string) => {
      if (joint !== undefined) return '';
      const code = Number.parseInt(short ?? long ?? '', 16);
      if (Number.isInteger(code)) return code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd';
      return ESCAPES[letter ?? ''] ?? all;
    },
  );
}
