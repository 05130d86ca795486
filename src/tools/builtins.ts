import { loadOnce } from '../core/async.ts';
import { AppError } from '../core/error.ts';
import type { Env } from '../core/io.ts';
import { findNearestNames } from '../core/text/names.ts';
import { sanitize } from '../core/text/terminal.ts';
import { takeBefore } from '../core/text/trim.ts';
import type { Tool } from '../core/tool.ts';
import {
  EDIT_FILE,
  GLOB,
  LIST_DIRECTORY,
  READ_FILE,
  SEARCH_FILE_CONTENT,
  WRITE_FILE,
  WRITE_TODOS,
} from './declarations.ts';
import { defineTool } from './define.ts';
import type { Workspace } from './workspace/workspace.ts';

interface BuiltinOptions {
  readonly workspace: Workspace;
  /** Its PATH is searched for ripgrep. */
  readonly env: Env;
  /** Tools that need more than files; they come last, in this order. */
  readonly others?: readonly Tool[];
}

/** The built-in tools, always in the same order. What a tool does is loaded by its first call. */
export function builtins({ workspace, env, others = [] }: BuiltinOptions): readonly Tool[] {
  const root = workspace.roots[0];
  const ripgrep = loadOnce(async () => {
    const { findRipgrep } = await import('./search/ripgrep.ts');
    let found: { readonly program: string | undefined } | undefined;
    return (): string | undefined => {
      found ??= { program: findRipgrep(env, workspace.roots) };
      return found.program;
    };
  });
  const list = loadOnce(async () => (await import('./list-directory.ts')).listDirectory(workspace));
  const read = loadOnce(async () => (await import('./read-file.ts')).readFile(workspace));
  const write = loadOnce(async () => (await import('./write-file.ts')).writeFile(workspace));
  const edit = loadOnce(async () => (await import('./edit-file.ts')).editFile(workspace));
  const find = loadOnce(async () => (await import('./glob.ts')).glob(workspace, await ripgrep()));
  const search = loadOnce(async () =>
    (await import('./search-file-content.ts')).searchFileContent(workspace, await ripgrep()),
  );
  return [
    defineTool({ ...LIST_DIRECTORY, root, run: async (input, signal) => (await list()).run(input, signal) }),
    defineTool({ ...READ_FILE, root, run: async (input, signal) => (await read()).run(input, signal) }),
    defineTool({
      ...WRITE_FILE,
      root,
      preview: async (input, signal, draft) => (await write()).preview(input, signal, draft),
      run: async (input, signal) => (await write()).run(input, signal),
    }),
    defineTool({
      ...EDIT_FILE,
      root,
      preview: async (input, signal, draft) => (await edit()).preview(input, signal, draft),
      run: async (input, signal) => (await edit()).run(input, signal),
    }),
    defineTool({ ...GLOB, root, run: async (input, signal) => (await find()).run(input, signal) }),
    defineTool({ ...SEARCH_FILE_CONTENT, root, run: async (input, signal) => (await search()).run(input, signal) }),
    defineTool({
      ...WRITE_TODOS,
      run: async (input, signal) => (await import('./write-todos.ts')).writeTodos.run(input, signal),
    }),
    ...others,
  ];
}

type ToolSet = 'none' | 'read' | 'edit' | 'all';

/** These change no file; they are in every set. */
const READERS: readonly string[] = ['list_directory', 'read_file', 'glob', 'search_file_content', 'write_todos'];
const EDITORS: readonly string[] = [...READERS, 'write_file', 'edit_file'];

const SHELL = 'run_shell_command';

/** They act on background commands of the shell tool, and are offered only together with it. */
const SHELL_COMPANIONS: readonly string[] = ['read_output', 'stop_command'];

/** Not created by `builtins`, but passed to it if a run may have them. */
const OTHERS: readonly string[] = [SHELL, ...SHELL_COMPANIONS, 'web_fetch', 'google_web_search'];

export const BUILTIN_NAMES: readonly string[] = [...EDITORS, ...OTHERS];

const OFFICIAL_NAMES: Readonly<Record<string, string>> = { replace: 'edit_file', grep_search: 'search_file_content' };

/** Class names the official CLI's settings also accept. */
const CLASS_NAMES: Readonly<Record<string, string>> = {
  LSTool: 'list_directory',
  ReadFileTool: 'read_file',
  WriteFileTool: 'write_file',
  EditTool: 'edit_file',
  GlobTool: 'glob',
  GrepTool: 'search_file_content',
  RipGrepTool: 'search_file_content',
  ShellTool: 'run_shell_command',
  WebFetchTool: 'web_fetch',
  WebSearchTool: 'google_web_search',
  WriteTodosTool: 'write_todos',
};

export interface ToolLimits {
  readonly core?: readonly string[] | undefined;
  readonly exclude?: readonly string[] | undefined;
}

/**
 * Whether the settings allow a tool. In doubt they do not: `name(…)`, which means some calls of a tool, excludes all of
 * it and allows none of it.
 */
export function isAllowedBySettings(name: string, { core, exclude = [] }: ToolLimits): boolean {
  const isExcluded = exclude.some((entry) => toToolName(takeBefore(entry, '(')) === name);
  const isCore =
    core === undefined || !BUILTIN_NAMES.includes(name) || core.some((entry) => toToolName(entry) === toOwner(name));
  return isCore && !isExcluded;
}

function toOwner(name: string): string {
  return SHELL_COMPANIONS.includes(name) ? SHELL : name;
}

export function dropLoneCompanions(tools: readonly Tool[]): readonly Tool[] {
  return tools.some(({ name }) => name === SHELL)
    ? tools
    : tools.filter(({ name }) => !SHELL_COMPANIONS.includes(name));
}

function toToolName(entry: string): string {
  const name = entry.trim();
  return [OFFICIAL_NAMES, CLASS_NAMES].find((names) => Object.hasOwn(names, name))?.[name] ?? name;
}

export function isToolSet(name: string): name is ToolSet {
  return name === 'none' || name === 'read' || name === 'edit' || name === 'all';
}

/** The tools of these sets and names, in the order of `all`. Throws AppError `usage` for an unknown name. */
export function selectTools(all: readonly Tool[], wanted: readonly string[]): readonly Tool[] {
  const names = expandNames(
    wanted,
    all.map(({ name }) => name),
  );
  return all.filter(({ name }) => names.includes(name));
}

export function isSelected(name: string, wanted: readonly string[]): boolean {
  return expandNames(wanted, BUILTIN_NAMES).includes(name);
}

/**
 * Translates the official names in `--allowed-tools`. Names of MCP servers, `server__tool` and `server__*`, are taken
 * as they are. Throws AppError `usage` for an unknown name.
 */
export function translateNames(wanted: readonly string[]): readonly string[] {
  return wanted.map((name) => (name.includes('__') ? name : requireToolName(BUILTIN_NAMES, name)));
}

export function isBuiltinName(name: string): boolean {
  return BUILTIN_NAMES.includes((Object.hasOwn(OFFICIAL_NAMES, name) ? OFFICIAL_NAMES[name] : undefined) ?? name);
}

function expandNames(wanted: readonly string[], known: readonly string[]): readonly string[] {
  if (wanted.length > 1 && wanted.includes('none')) {
    throw new AppError('usage', 'none cannot be combined with other tools', { hint: 'Use it alone, or leave it out.' });
  }
  return wanted.flatMap((name) => {
    if (isToolSet(name)) return expandSet(name, known);
    const own = requireToolName(known, name);
    return own === SHELL ? [own, ...SHELL_COMPANIONS] : own;
  });
}

function expandSet(set: ToolSet, known: readonly string[]): readonly string[] {
  if (set === 'all') return known;
  if (set === 'none') return [];
  return set === 'read' ? READERS : EDITORS;
}

function requireToolName(names: readonly string[], name: string): string {
  const own = (Object.hasOwn(OFFICIAL_NAMES, name) ? OFFICIAL_NAMES[name] : undefined) ?? name;
  if (names.includes(own)) return own;
  const [near] = findNearestNames(name, names);
  throw new AppError('usage', `there is no tool ${sanitize(name)}`, {
    hint: near === undefined ? `There are: ${names.join(', ')}` : `Did you mean ${near}?`,
  });
}
