import { AppError } from '../core/error.ts';
import type { Env } from '../core/io.ts';
import { nearestNames } from '../core/text/names.ts';
import { textBefore } from '../core/text/trim.ts';
import type { Tool } from '../core/tool.ts';
import { editFile } from './edit-file.ts';
import { glob } from './glob.ts';
import { listDirectory } from './list-directory.ts';
import { readFile } from './read-file.ts';
import { findRipgrep } from './search/ripgrep.ts';
import { searchFileContent } from './search-file-content.ts';
import type { Workspace } from './workspace/workspace.ts';
import { writeFile } from './write-file.ts';

interface BuiltinOptions {
  readonly workspace: Workspace;
  /** Where programs are looked for: only ripgrep is. */
  readonly env: Env;
  /** Tools that need more than files, already made; they come last, in this order. */
  readonly others?: readonly Tool[];
}

/** The tools gmn has, always in the same order. */
export function builtins({ workspace, env, others = [] }: BuiltinOptions): readonly Tool[] {
  // Looked for when it is first needed, and once.
  let found: { readonly program: string | undefined } | undefined;
  const ripgrep = (): string | undefined => {
    found ??= { program: findRipgrep(env, workspace.roots) };
    return found.program;
  };
  return [
    listDirectory(workspace),
    readFile(workspace),
    writeFile(workspace),
    editFile(workspace),
    glob(workspace, ripgrep),
    searchFileContent(workspace, ripgrep),
    ...others,
  ];
}

/** What `--tools` may say besides names. */
type ToolSet = 'none' | 'read' | 'edit' | 'all';

const READERS: readonly string[] = ['list_directory', 'read_file', 'glob', 'search_file_content'];
const EDITORS: readonly string[] = [...READERS, 'write_file', 'edit_file'];

/** Tools that are made elsewhere, and only if a run may have them. */
const OTHERS: readonly string[] = ['run_shell_command', 'web_fetch', 'google_web_search'];

/** The names of all of them. */
export const BUILTIN_NAMES: readonly string[] = [...EDITORS, ...OTHERS];

/** The official CLI's names for the same tools. */
const OFFICIAL_NAMES: Readonly<Record<string, string>> = { replace: 'edit_file', grep_search: 'search_file_content' };

/** What its settings may call them besides. */
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
};

/** What the settings say about tools: `tools.core` and `tools.exclude`. */
export interface ToolLimits {
  /** The only built-in ones there are; all of them if absent. */
  readonly core?: readonly string[] | undefined;
  readonly exclude?: readonly string[] | undefined;
}

/**
 * Whether the settings leave a tool. In doubt they do not: `name(…)`, which means some calls of a tool, excludes the whole of it
 * and allows none of it.
 */
export function isLeft(name: string, { core, exclude = [] }: ToolLimits): boolean {
  const isExcluded = exclude.some((entry) => settingName(textBefore(entry, '(')) === name);
  const isCore =
    core === undefined || !BUILTIN_NAMES.includes(name) || core.some((entry) => settingName(entry) === name);
  return isCore && !isExcluded;
}

function settingName(entry: string): string {
  const name = entry.trim();
  return [OFFICIAL_NAMES, CLASS_NAMES].find((names) => Object.hasOwn(names, name))?.[name] ?? name;
}

/** Whether it is the name of a set. */
export function isToolSet(name: string): name is ToolSet {
  return name === 'none' || name === 'read' || name === 'edit' || name === 'all';
}

/** The tools of these sets and names, in the order of `all`. Throws AppError `usage` for a name there is not. */
export function selectTools(all: readonly Tool[], wanted: readonly string[]): readonly Tool[] {
  const names = namesIn(
    wanted,
    all.map(({ name }) => name),
  );
  return all.filter(({ name }) => names.includes(name));
}

/** Whether these sets and names have the built-in tool of this name. Throws as `selectTools` does. */
export function isSelected(name: string, wanted: readonly string[]): boolean {
  return namesIn(wanted, BUILTIN_NAMES).includes(name);
}

/**
 * What `--allowed-tools` names, official names translated. Those of MCP servers, `server__tool` and `server__*`, are taken as
 * they are. Throws AppError `usage` for a name there is not.
 */
export function allowedNames(wanted: readonly string[]): readonly string[] {
  return wanted.map((name) => (name.includes('__') ? name : ownName(BUILTIN_NAMES, name)));
}

/** Whether it is the name of a built-in tool, gmn's own or the official one. */
export function isBuiltinName(name: string): boolean {
  return BUILTIN_NAMES.includes((Object.hasOwn(OFFICIAL_NAMES, name) ? OFFICIAL_NAMES[name] : undefined) ?? name);
}

function namesIn(wanted: readonly string[], known: readonly string[]): readonly string[] {
  if (wanted.length > 1 && wanted.includes('none')) {
    throw new AppError('usage', 'none cannot be combined with other tools', { hint: 'Use it alone, or leave it out.' });
  }
  return wanted.flatMap((name) => (isToolSet(name) ? setOf(name, known) : ownName(known, name)));
}

function setOf(set: ToolSet, known: readonly string[]): readonly string[] {
  if (set === 'all') return known;
  if (set === 'none') return [];
  return set === 'read' ? READERS : EDITORS;
}

function ownName(names: readonly string[], name: string): string {
  const own = (Object.hasOwn(OFFICIAL_NAMES, name) ? OFFICIAL_NAMES[name] : undefined) ?? name;
  if (names.includes(own)) return own;
  const [near] = nearestNames(name, names);
  throw new AppError('usage', `there is no tool ${name}`, {
    hint: near === undefined ? `There are: ${names.join(', ')}` : `Did you mean ${near}?`,
  });
}
