import { dirname, join } from 'node:path';
import type { App, Homes, Settings } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { isList } from '../core/json.ts';
import { pathExists, realPath } from '../platform/files/path.ts';
import { readSetting } from './keys.ts';

export interface ContextOptions extends Pick<App, 'env' | 'cwd'> {
  readonly homes: Homes;
  readonly settings: Pick<Settings, 'env' | 'document'>;
}

export interface ContextFile {
  /** Links are not resolved. */
  readonly file: string;
  readonly directory: string;
  /** Imports must stay inside it. Without symbolic links. */
  readonly root: string;
  readonly scope: 'user' | 'project';
}

export interface Context {
  /** Text of the `GEMINI_SYSTEM_MD` file; replaces the system prompt unless `--system` is given. */
  readonly system?: string;
  readonly memory?: string;
  readonly notices: readonly string[];
}

/** Later ones win. */
const DEFAULT_NAMES: readonly string[] = ['AGENTS.md', 'GEMINI.md'];

/**
 * The existing context files: the user's own, then the project's from its root (where `.git` is) down to the working
 * directory. Reads no content. Throws AppError `config` if `context.fileName` is not a file name.
 */
export function findContextFiles({ cwd, homes, settings }: ContextOptions): readonly ContextFile[] {
  const names = listContextNames(settings);
  const folders = listProjectFolders(cwd);
  const find = (directory: string, top: string, scope: ContextFile['scope']): readonly ContextFile[] =>
    findFilesIn(directory, names).map((file) => ({ file, directory, root: realPath(top) ?? top, scope }));
  const own = find(homes.gemini, homes.gemini, 'user');
  const shared = folders.flatMap((folder) => find(folder, folders[0] ?? cwd, 'project'));
  return [...own, ...shared.filter(({ file }) => !own.some((other) => realPath(other.file) === realPath(file)))];
}

/** Of two names for one file, such as a link, the later one stays. */
export function findFilesIn(directory: string, names: readonly string[]): readonly string[] {
  const files = names.map((name) => join(directory, name)).filter(pathExists);
  return files.filter((file, index) => !files.slice(index + 1).some((other) => realPath(other) === realPath(file)));
}

export function hasContext(options: ContextOptions): boolean {
  return findSystemMdValue(options) !== undefined || findContextFiles(options).length > 0;
}

/**
 * Joins `--system` (else the agent prompt, or `GEMINI_SYSTEM_MD` in its place), the context files and
 * `--append-system-prompt`, in this order. Undefined if all are empty.
 */
export function joinSystemInstruction(
  { system, memory }: Pick<Context, 'system' | 'memory'>,
  flags: { readonly system?: string | undefined; readonly append?: string | undefined },
): string | undefined {
  const texts = [flags.system ?? system, memory, flags.append].filter((text) => text !== undefined && text !== '');
  return texts.length === 0 ? undefined : texts.join('\n\n');
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

/** Throws AppError `config` if `context.fileName` is not a file name. */
export function listContextNames({ document = {} }: ContextOptions['settings']): readonly string[] {
  const value = readSetting(document, 'context.fileName');
  if (value === undefined) return DEFAULT_NAMES;
  const names = isList(value) ? value : [value];
  const added = names.map((name) => {
    if (name !== '') return name;
    throw new AppError('config', 'context.fileName must be a file name or a list of them', {
      hint: 'To see where it is set: gmn config explain context.fileName',
    });
  });
  // As in the official CLI, they are read in addition to GEMINI.md.
  return [...new Set([...DEFAULT_NAMES, ...added])];
}
