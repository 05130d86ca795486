import { dirname, join } from 'node:path';
import type { App, Homes, Settings } from '../core/app.ts';
import { isList, type JsonObject } from '../core/json.ts';
import { pathExists, realPath } from '../platform/files/path.ts';
import { readSetting } from './keys.ts';

export interface ContextOptions extends Pick<App, 'env' | 'cwd' | 'omitsHomeContext'> {
  readonly homes: Homes;
  readonly settings: Pick<Settings, 'env' | 'document' | 'ownDocument' | 'extensions'>;
}

export interface ContextFile {
  readonly file: string;
  readonly directory: string;
  /** Imports must stay inside it. Without symbolic links. */
  readonly root: string;
  readonly scope: 'user' | 'project';
}

export interface ContextText {
  readonly name: string;
  readonly text: string;
}

export interface Context {
  /** Text of the `GEMINI_SYSTEM_MD` file; replaces the system prompt unless `--system` is given. */
  readonly system?: string;
  /** Whether that text has the list of skills already. */
  readonly listsSkills?: boolean;
  readonly memory?: string;
  /** What the two above are made of. */
  readonly files: readonly ContextText[];
  /** Every file that this comes from, and those that it would come from if they existed. Real paths. */
  readonly sources: readonly string[];
  readonly notices: readonly string[];
}

/** Names that the settings add; each is looked up in every folder. */
export const MAX_CONTEXT_NAMES = 100;

/** The file that gmn itself adds to, in `~/.gmn` and in projects. */
export const OWN_CONTEXT_NAME = 'AGENTS.md';

const DEFAULT_NAMES: readonly string[] = [OWN_CONTEXT_NAME, 'GEMINI.md'];

/** Those of extensions, the user's own, `~/.gmn` after `~/.gemini`, then the project's from its root (where `.git` is) down to the working directory. */
export function findContextFiles(options: ContextOptions): readonly ContextFile[] {
  const { cwd, homes, settings, omitsHomeContext } = options;
  const folders = listProjectFolders(cwd);
  const find = (directory: string, top: string, scope: ContextFile['scope']): readonly ContextFile[] => {
    const names = listContextNames(settings, scope === 'project' && directory === cwd);
    return findFilesIn(directory, names).map((file) => ({ file, directory, root: realPath(top) ?? top, scope }));
  };
  const added = findFilesIn(homes.gmn, [OWN_CONTEXT_NAME]).map(
    (file) => ({ file, directory: homes.gmn, root: realPath(homes.gmn) ?? homes.gmn, scope: 'user' }) as const,
  );
  const installed = (settings.extensions ?? []).flatMap(({ path, contextFiles }) =>
    contextFiles.map((file) => ({ file, directory: path, root: path, scope: 'user' }) as const),
  );
  const own = [...installed, ...find(homes.gemini, homes.gemini, 'user'), ...added];
  const shared = folders.flatMap((folder) => find(folder, folders[0] ?? cwd, 'project'));
  if (omitsHomeContext) return shared;
  return [...own, ...shared.filter(({ file }) => !own.some((other) => realPath(other.file) === realPath(file)))];
}

/** Of two names for one file, such as a link, the later one stays. */
export function findFilesIn(directory: string, names: readonly string[]): readonly string[] {
  const files = names.map((name) => join(directory, name)).filter(pathExists);
  const real = files.map(realPath);
  return files.filter((_, index) => !real.includes(real[index], index + 1));
}

export function hasContext(options: ContextOptions): boolean {
  return (
    findSystemMdValue(options) !== undefined ||
    hasRefusedName(options.settings.document) ||
    findContextFiles(options).length > 0
  );
}

/** `--system` (else the agent prompt, or `GEMINI_SYSTEM_MD` in its place), context files, skills, `--append-system-prompt`. */
export function joinSystemInstruction(
  { system, memory }: Pick<Context, 'system' | 'memory'>,
  { skills, ...flags }: { readonly system?: string; readonly append?: string; readonly skills?: string },
): string | undefined {
  const texts = [flags.system ?? system, memory, skills, flags.append].filter(
    (text) => text !== undefined && text !== '',
  );
  return texts.length === 0 ? undefined : texts.join('\n\n');
}

/** The directories of the programs that these are written for; what is in the last one counts most. */
export const CONVENTION_OWNERS = {
  skills: ['.claude', '.gemini', '.agents'],
  agents: ['.claude', '.gemini'],
} as const;

export type ConventionKind = keyof typeof CONVENTION_OWNERS;

/** Whether skills or agents may be there: a few looks at the disk, so that a run without them loads nothing. */
export function hasConventionPlaces({ cwd, homes: findHomes }: Pick<App, 'cwd' | 'homes'>): boolean {
  const homes = findHomes();
  const folders = listProjectFolders(cwd);
  return (['skills', 'agents'] as const).some(
    (kind) =>
      (!homes.isMissing && listUserPlaces(kind, homes.gemini).some(pathExists)) ||
      folders.some((folder) => CONVENTION_OWNERS[kind].some((owner) => pathExists(join(folder, owner, kind)))),
  );
}

/** `~/.claude/skills` and the like are beside `~/.gemini`, wherever that is. */
export function listUserPlaces(kind: ConventionKind, gemini: string): readonly string[] {
  const toPlace = (owner: string): string => join(owner === '.gemini' ? gemini : join(dirname(gemini), owner), kind);
  return CONVENTION_OWNERS[kind].map(toPlace);
}

export function findSystemMdValue({ settings }: Pick<ContextOptions, 'settings'>): string | undefined {
  const value = settings.env.GEMINI_SYSTEM_MD?.trim();
  return value === undefined || value === '' || /^(?:0|false)$/i.test(value) ? undefined : value;
}

/** From the project root down to `cwd`; only `cwd` if there is no root. */
export function listProjectFolders(cwd: string): readonly string[] {
  const folders: string[] = [];
  for (let folder = cwd; ; folder = dirname(folder)) {
    folders.unshift(folder);
    if (pathExists(join(folder, '.git'))) return folders;
    if (dirname(folder) === folder) return [cwd];
  }
}

/** What the working directory's settings say counts there and below (`isInFolder`), and finds no file elsewhere. */
export function listContextNames(
  { document, ownDocument }: Pick<Settings, 'document' | 'ownDocument'>,
  isInFolder: boolean,
): readonly string[] {
  const names = listNamesSet((isInFolder ? document : ownDocument) ?? {});
  // As in the official CLI, they are read in addition to GEMINI.md.
  return [...new Set([...DEFAULT_NAMES, ...names.slice(0, MAX_CONTEXT_NAMES).filter(isPlainFileName)])];
}

/** Whether `context.fileName` holds too many names, or a path, which is not used: it could lead anywhere. */
export function hasRefusedName(document: JsonObject = {}): boolean {
  const names = listNamesSet(document);
  return names.length > MAX_CONTEXT_NAMES || !names.every(isPlainFileName);
}

function listNamesSet(document: JsonObject): readonly string[] {
  const value = readSetting(document, 'context.fileName') ?? [];
  return isList(value) ? value : [value];
}

/** Whether it is the name of a file, on any system: no path, drive or stream, and not only dots. */
function isPlainFileName(name: string): boolean {
  return !/[\\/:\0]|^[. ]*$/.test(name);
}
