import { basename, join, relative } from 'node:path';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { contains, toSlashes } from '../core/text/path.ts';
import { isDirectory, realPath } from '../platform/files/path.ts';
import { inspectPath, readDirectory } from '../platform/files/read.ts';
import { readSmallFile, tryReadSmallFile } from '../platform/files/small-file.ts';
import { sha256 } from '../platform/runtime/native.ts';
import { BUILT_IN_TEMPLATES } from './builtin-templates.ts';
import { readSetting } from './keys.ts';
import { parseToml } from './toml.ts';
import { decideTrust, isApprovedItem, readTrustRecords, type TrustItem, type TrustRecord } from './trust.ts';

export interface Template {
  readonly name: string;
  readonly file: string;
  /** `markdown` is gmn's own format, `command` a custom command of the official CLI. */
  readonly kind: 'markdown' | 'command';
  readonly description?: string;
  readonly body: string;
  /** `needs: input`: without words, stdin or a file there is nothing to ask. */
  readonly needsInput?: boolean;
  readonly defaults: ReadonlyMap<string, string>;
}

interface TemplateDirectory {
  readonly directory: string;
  readonly kind: Template['kind'];
  readonly scope: 'user' | 'workspace' | 'built-in' | 'extension';
  readonly ignored?: string;
  /** The trusted folder that has it, and what `gmn trust` has shown of it. Absent: all of it is used. */
  readonly reviewed?: { readonly folder: string; readonly record: TrustRecord };
}

export type FoundTemplate = TemplateSource & { readonly place: TemplateDirectory };

interface TemplateSource extends Pick<Template, 'name' | 'file' | 'kind'> {
  /** Absent: it is in the file. */
  readonly text?: string;
}

const BUILT_IN_PLACE: TemplateDirectory = { directory: 'built-in', kind: 'markdown', scope: 'built-in' };

const EXTENSIONS = { markdown: '.md', command: '.toml' } as const;

/** Enough for names like `git:commit`; also ends cycles of links. */
const MAX_DEPTH = 4;

type ProjectApp = Pick<App, 'homes' | 'cwd' | 'env' | 'settings'>;

/** In order of precedence: the folder's, if trusted, the user's, then those of extensions. */
export async function listTemplateDirectories(app: ProjectApp): Promise<readonly TemplateDirectory[]> {
  const homes = app.homes();
  const toPlace = (home: string, folder: string, scope: TemplateDirectory['scope']) =>
    ({ directory: join(home, folder), scope }) as const;
  const own = [
    { ...toPlace(homes.gmn, 'templates', 'user'), kind: 'markdown' },
    { ...toPlace(homes.gemini, 'commands', 'user'), kind: 'command' },
  ] as const;
  const folders = [
    { ...toPlace(join(app.cwd, '.gmn'), 'templates', 'workspace'), kind: 'markdown' },
    { ...toPlace(join(app.cwd, '.gemini'), 'commands', 'workspace'), kind: 'command' },
  ] as const;
  // In the home directory, the folder's and the user's are the same.
  const isOwn = ({ directory }: TemplateDirectory): boolean =>
    own.some((place) => place.directory === directory || realPath(place.directory) === realPath(directory));
  // A folder's templates must not lead elsewhere: it could make any of the user's files one of them.
  const isInside = ({ directory }: TemplateDirectory): boolean =>
    contains(realPath(app.cwd) ?? app.cwd, realPath(directory) ?? directory);
  const shared = folders.filter((place) => isDirectory(place.directory) && isInside(place) && !isOwn(place));
  const trust = shared.length === 0 ? {} : await findProjectTrust(app);
  const installed = ((await app.settings()).extensions ?? []).map(
    ({ path }) => ({ directory: join(path, 'commands'), scope: 'extension', kind: 'command' }) as const,
  );
  return [...shared.map((place) => ({ ...place, ...trust })), ...own, ...installed];
}

async function findProjectTrust(app: ProjectApp): Promise<Pick<TemplateDirectory, 'ignored' | 'reviewed'>> {
  const homes = app.homes();
  const isEnabled = readSetting((await app.settings()).document ?? {}, 'security.folderTrust.enabled') ?? true;
  const records = readTrustRecords(homes);
  const decision = decideTrust({ ...app, homes, isEnabled, records });
  if (!decision.isTrusted) return { ignored: decision.why };
  const folder = realPath(app.cwd) ?? app.cwd;
  const record = records.get(folder);
  // Where another list trusts the folder, or an older gmn did, no command was shown; each of their shell commands is asked about.
  return record?.approved.commands === undefined ? {} : { reviewed: { folder, record } };
}

export interface FolderCommand extends TrustItem {
  /** What it runs in a shell. */
  readonly lines: readonly string[];
}

/** `folder` without links. What cannot be read is left out: it cannot be used, either. */
export async function listFolderCommands(
  places: readonly TemplateDirectory[],
  folder: string,
): Promise<readonly FolderCommand[]> {
  const found = await Promise.all(
    places.map((place) => walkTemplates({ ...place, reviewed: undefined }, place.directory, [])),
  );
  return found.flat().flatMap(({ file }) => {
    const text = tryReadSmallFile(file);
    return text === undefined
      ? []
      : [{ ...toCommandItem(file, text, folder), lines: [...text.matchAll(/!\{[^\n]*/g)].map(([line]) => line) }];
  });
}

function toCommandItem(file: string, text: string, folder: string): TrustItem {
  return { kind: 'commands', name: toSlashes(relative(folder, realPath(file) ?? file)), hash: sha256(text) };
}

/** Why a command of a folder that was reviewed is not used. */
function findReviewFault(file: string, { reviewed }: TemplateDirectory): string | undefined {
  if (reviewed === undefined) return undefined;
  const text = tryReadSmallFile(file);
  const isKnown = text !== undefined && isApprovedItem(reviewed.record, toCommandItem(file, text, reviewed.folder));
  return isKnown ? undefined : 'it is new, or has changed since gmn trust showed it';
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
    // Users may keep their templates behind links.
    const real = kind === 'link' && place.scope === 'user' ? (await inspectPath(file))?.kind : kind;
    const ending = EXTENSIONS[place.kind];
    if (real === 'directory') found.push(...(await walkTemplates(place, file, [...path, name])));
    else if (real === 'file' && name.endsWith(ending) && name !== ending) {
      const ignored = place.ignored ?? findReviewFault(file, place);
      const at = ignored === undefined ? place : { ...place, ignored };
      found.push({ name: [...path, name.slice(0, -ending.length)].join(':'), file, kind: place.kind, place: at });
    }
  }
  return found;
}

/** Throws AppError `config` if the file is missing, is not TOML though it should be, or the template is empty. */
export async function readTemplate({ name, file, kind, text: given }: TemplateSource): Promise<Template> {
  const text = given ?? readSmallFile(file);
  if (text === undefined) throw new AppError('config', `there is no file ${file}`, { hint: 'Try: gmn templates list' });
  const { body, description, needsInput, defaults } =
    kind === 'command' ? await parseCommand(text, file) : parseMarkdown(text);
  if (body.trim() === '') {
    throw new AppError('config', `${file}: the template is empty`, {
      hint: kind === 'command' ? 'It needs a line such as: prompt = "Explain {{args}}"' : 'Write the prompt into it.',
    });
  }
  return { name, file, kind, body, defaults, needsInput, description: description || undefined };
}

type Parsed = Pick<Template, 'body' | 'defaults' | 'needsInput'> & { readonly description?: string };

async function parseCommand(text: string, file: string): Promise<Parsed> {
  const { prompt, description } = await parseToml(text, (line) => `${file}:${line}`);
  return {
    body: typeof prompt === 'string' ? prompt : '',
    description: typeof description === 'string' ? description : undefined,
    defaults: new Map(),
  };
}

function parseMarkdown(text: string): Parsed {
  const [head, front = ''] = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/.exec(text) ?? [];
  const lines = front.split(/\r?\n/).flatMap((line) => {
    const [, key, value = ''] = /^([\w-]+):(.*)$/.exec(line) ?? [];
    return key === undefined ? [] : [[key, value.trim().replace(/^(["'])(.*)\1$/, '$2')] as const];
  });
  const defaults = new Map(lines);
  const description = defaults.get('description');
  const needsInput = defaults.get('needs') === 'input';
  defaults.delete('description');
  if (needsInput) defaults.delete('needs');
  return { body: text.slice(head?.length ?? 0).replace(/\r?\n$/, ''), description, needsInput, defaults };
}

export function toTemplate(file: string): TemplateSource {
  return { name: basename(file), file, kind: file.endsWith(EXTENSIONS.command) ? 'command' : 'markdown' };
}
