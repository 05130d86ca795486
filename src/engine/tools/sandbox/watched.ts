import { basename, dirname, join, resolve } from 'node:path';
import { readContext } from '../../../config/context.ts';
import { listContextNames } from '../../../config/context-place.ts';
import { parseHooks } from '../../../config/conventions/hooks.ts';
import { readNestedContext } from '../../../config/nested-context.ts';
import type { App } from '../../../core/app.ts';
import { filterStrings, isList, isObject } from '../../../core/json.ts';
import { parseGitConfig } from '../../../core/text/git-config.ts';
import { contains, expandHome, leadsAway } from '../../../core/text/path.ts';
import { locate } from '../../../platform/files/directory-handle.ts';
import { entryExists, findFileKind, isDirectory, realPath } from '../../../platform/files/path.ts';
import { listDirectoryEntries, listPaths } from '../../../platform/files/read.ts';
import { tryReadSmallFile } from '../../../platform/files/small-file.ts';
import { REPOSITORY_ENTRIES } from '../../../tools/workspace/protected-lists.ts';
import { isProtected } from '../../../tools/workspace/protection.ts';

/** A file, or a directory with all that is in it, which instructs models or is run by other programs. It may not exist yet. */
export interface Watched {
  /** Free of links, but for a link that is watched itself. */
  readonly path: string;
  /** Builds, installations and checkouts write it, so confined commands may; what they change is reported. */
  readonly isOpen: boolean;
}

export interface WatchedList {
  readonly entries: readonly Watched[];
  /** Those that were looked at, from the roots downwards. */
  readonly directories: readonly string[];
  /** Whether there are more directories than were looked at. */
  readonly isPartial: boolean;
}

export interface WatchQuestion {
  readonly app: Pick<App, 'env' | 'cwd' | 'homes' | 'settings'>;
  /** The working directory first. */
  readonly roots: readonly string[];
}

export interface Watcher {
  /** Real paths. */
  readonly roots: readonly string[];
  /** The directories are listed anew; what the instruction was read from is as at the last refresh. */
  list(): WatchedList;
  refresh(): Promise<void>;
}

/** What in the workspace instructs models or is run by other programs; `near`: with the context files on the way to this path. Throws AppError `config`. */
export async function listWatched(question: WatchQuestion, near?: string): Promise<WatchedList> {
  const { roots, scan } = await prepareScan(question);
  const scanned = scan();
  const around = near === undefined ? undefined : locate(near)?.real;
  const folders = around === undefined ? scanned.contextFolders : [...scanned.contextFolders, around];
  return merge(roots, scanned, await listInstructing(question, folders));
}

/** Throws AppError `config`. */
export async function openWatcher(question: WatchQuestion): Promise<Watcher> {
  const { roots, scan } = await prepareScan(question);
  let instructing = await listInstructing(question, scan().contextFolders);
  return {
    roots,
    refresh: async () => {
      instructing = await listInstructing(question, scan().contextFolders);
    },
    list: () => merge(roots, scan(), instructing),
  };
}

async function prepareScan({ app, roots: spelled }: WatchQuestion) {
  const roots = spelled.map((root) => realPath(root) ?? root);
  const settings = await app.settings();
  const names = [...new Set([true, false].flatMap((isInFolder) => listContextNames(settings, isInFolder)))];
  return { roots, scan: () => scanWorkspace(roots, names, app.env.HOME) };
}

function merge(
  roots: readonly string[],
  { entries, directories, isPartial }: Scan,
  instructing: readonly string[],
): WatchedList {
  const found = new Map<string, Watched>();
  for (const entry of [...entries, ...instructing.map((path) => ({ path, isOpen: false }))])
    if (isOfWorkspace(roots, entry.path) && found.get(entry.path)?.isOpen !== false) found.set(entry.path, entry);
  return { entries: [...found.values()], directories, isPartial };
}

/** A root as a whole is never watched. */
function isOfWorkspace(roots: readonly string[], path: string): boolean {
  return roots.some((root) => contains(root, path)) && !roots.some((root) => contains(path, root));
}

/** With the steps that do not exist yet. */
function resolveLinks(path: string): string | undefined {
  const located = locate(path);
  return located && join(located.real, ...located.rest);
}

/** Those nearest to the roots are looked at first. */
const MAX_DIRECTORIES = 1000;

/** What installations fill with directories; of their own `.bin` is watched. */
const INSTALLED = ['node_modules', 'site-packages'];

/** What builds write, although no tool that edits files may. */
const BUILT = ['.venv', '.bundle', '.yarn'];

const MAX_CONTEXT_FOLDERS = 100;

interface Scan extends WatchedList {
  /** Those with context files of their own. */
  readonly contextFolders: readonly string[];
}

function scanWorkspace(roots: readonly string[], names: readonly string[], home: string | undefined): Scan {
  const entries: Watched[] = [];
  const repositories: Repository[] = roots.flatMap(findRepositoryAround);
  const contextFolders: string[] = [];
  const directories = [...roots];
  let isPartial = false;
  for (const directory of directories) {
    const found = listDirectoryEntries(directory);
    const isRoot = roots.includes(directory);
    const isThere = (name: string): boolean => found.some((entry) => entry.name === name);
    if (REPOSITORY_ENTRIES.some((needed) => needed.every(isThere)) && !isRoot) {
      entries.push({ path: directory, isOpen: false });
      repositories.push({ top: directory, entry: directory });
    }
    // https://docs.python.org/3/library/venv.html
    if (isThere('pyvenv.cfg'))
      for (const name of ['bin', 'Scripts', 'pyvenv.cfg']) entries.push({ path: join(directory, name), isOpen: true });
    for (const { name, kind } of found) {
      const path = join(directory, name);
      const isOpen = !isRoot || kind === 'link' || BUILT.includes(name);
      const isVirtual = name === '.venv';
      const isBrought = !isVirtual && isProtected(name, '', names);
      if (name === '.git') repositories.push({ top: directory, entry: path });
      if (name === '.git' || isBrought) entries.push({ path, isOpen: isOpen && (name !== '.git' || kind === 'link') });
      const target = isBrought && kind === 'link' ? resolveLinks(path) : undefined;
      if (target !== undefined) entries.push({ path: target, isOpen: !isRoot });
      if (name === 'node_modules') entries.push({ path: join(path, '.bin'), isOpen: true });
      if (isBrought || kind !== 'directory' || INSTALLED.includes(name)) continue;
      const inner = name.startsWith('.') && !isVirtual ? listProtectedIn(path) : [];
      if (inner.length > 0) entries.push(...(isOpen ? inner : [path]).map((each) => ({ path: each, isOpen })));
      if (directories.length < MAX_DIRECTORIES) directories.push(path);
      else isPartial = true;
    }
    if (!isRoot && names.some(isThere) && contextFolders.length < MAX_CONTEXT_FOLDERS) contextFolders.push(directory);
  }
  const named = repositories.flatMap((repository) => listNamedByGit(repository, home));
  entries.push(...named.map((path) => ({ path, isOpen: false })));
  return { entries, directories, isPartial, contextFolders };
}

/** In `.github`: `.github/workflows`. */
function listProtectedIn(directory: string): readonly string[] {
  return listPaths(directory).filter((path) => isProtected(join(basename(directory), basename(path))));
}

/** A directory in which git works, and what makes it one: a directory, or a file that names one. */
interface Repository {
  readonly top: string;
  readonly entry: string;
}

/** Of which the root is a part: its configuration counts here, too. */
function findRepositoryAround(root: string): readonly Repository[] {
  for (let top = dirname(root); ; top = dirname(top)) {
    if (entryExists(join(top, '.git'))) return [{ top, entry: join(top, '.git') }];
    if (dirname(top) === top) return [];
  }
}

/** Of all repositories; each is small. */
const MAX_CONFIGS = 20;

/** Files and directories that the configuration of a repository names, and the files that it is made of. Real paths. */
function listNamedByGit({ top, entry }: Repository, home: string | undefined): readonly string[] {
  const own = findGitDirectory(entry);
  const common = readNamed(join(own, 'commondir'), own) ?? own;
  const users = home === undefined ? [] : [join(home, '.gitconfig'), join(home, '.config', 'git', 'config')];
  const files = [join(common, 'config'), join(own, 'config.worktree'), ...users];
  const found = new Set<string>([own, common]);
  for (const file of files) {
    for (const { key, value } of parseGitConfig(tryReadSmallFile(file) ?? '')) {
      const isInclude = /^include(?:if\..*)?\.path$/s.test(key);
      const isPlace = key === 'core.hookspath' || key === 'init.templatedir';
      // Whatever its condition is.
      if (isInclude && files.length < MAX_CONFIGS) files.push(resolve(dirname(file), expandHome(value, home)));
      if (isInclude || isPlace) found.add(resolve(isInclude ? dirname(file) : top, expandHome(value, home)));
      else for (const path of listNamedFiles(value, top, home)) found.add(path);
    }
  }
  return [...found].flatMap((path) => resolveLinks(path) ?? []);
}

/** `gitdir: <path>` in a `.git` that is a file: https://git-scm.com/docs/gitrepository-layout */
function findGitDirectory(entry: string): string {
  return isDirectory(entry) ? entry : (readNamed(entry, dirname(entry)) ?? entry);
}

function readNamed(file: string, base: string): string | undefined {
  const path = tryReadSmallFile(file)
    ?.replace(/^gitdir:/, '')
    .trim();
  return path ? resolve(base, path) : undefined;
}

const MAX_WORDS = 100;

/** Directories to which a command may go before it runs something: `cd tools && ./check`. */
const MAX_BASES = 10;

/** The words of a command, or of another value, that are files, or are written as the path of one that is not there; also from the directories that it names. */
function listNamedFiles(command: string, base: string, home: string | undefined): readonly string[] {
  const start = command.slice(0, 10_000);
  const quoted = [...start.matchAll(/"([^"]*)"|'([^']*)'/g)].map(([, double = '', single = '']) => double || single);
  const words = [start, ...quoted, ...start.split(/[\s"'`;|&()<>=$!]+/)]
    .slice(0, MAX_WORDS)
    .filter((word) => word !== '' && !word.includes('://') && !leadsAway(word, [base]));
  const toPath = (word: string, from: string): string => resolve(from, expandHome(word, home));
  const directories = words.map((word) => toPath(word, base)).filter(isDirectory);
  return [base, ...directories.slice(0, MAX_BASES)].flatMap((from) =>
    words
      .map((word) => ({ word, path: toPath(word, from) }))
      .filter(({ word, path }) => (entryExists(path) ? !isDirectory(path) : word.includes('/') && !/[\s:*]/.test(word)))
      .map(({ path }) => path),
  );
}

/** Of what the instruction was read from, or would be; and of what the user's own directories and extensions have elsewhere. Real paths. */
async function listInstructing({ app, roots }: WatchQuestion, folders: readonly string[]): Promise<readonly string[]> {
  const { env, cwd } = app;
  const homes = app.homes();
  const settings = await app.settings();
  const context = { env, cwd, homes, settings, roots };
  const { sources } = await readContext(context, []);
  const nested = await Promise.all(folders.map((folder) => readNestedContext(context, folder, () => false)));
  const places = homes.isMissing ? [] : [homes.gemini, homes.gmn, join(dirname(homes.gemini), '.claude')];
  const linked = places.flatMap((home) => [
    ...listLinked(home, 1),
    ...USER_PLACES.flatMap((name) => listLinked(join(home, name), MAX_LINK_DEPTH)),
  ]);
  const installed = (settings.extensions ?? []).flatMap(({ path, file, contextFiles }) => [
    ...[file, ...contextFiles],
    ...EXTENSION_PLACES.flatMap((name) => [join(path, name), ...listLinked(join(path, name), MAX_LINK_DEPTH)]),
  ]);
  // A folder's servers and hooks are confined, or compared each time.
  const servers = [settings.servers ?? [], settings.serverCommand ?? []].flat().flatMap(({ scope, definition }) => {
    if (scope === 'workspace') return [];
    if (!isObject(definition)) return listNamedFiles(String(definition), cwd, env.HOME);
    const base = typeof definition.cwd === 'string' ? resolve(cwd, definition.cwd) : cwd;
    const words = [definition.command ?? '', ...(isList(definition.args) ? definition.args : [])];
    return filterStrings(words).flatMap((word) => listNamedFiles(word, base, env.HOME));
  });
  const lasting = parseHooks(settings.hooks ?? []).hooks.filter(({ scope }) => scope !== 'folder');
  const hooks = lasting.flatMap(({ command, file }) => [
    file,
    ...listNamedFiles(
      command
        .replace(/\$\{?(?:GEMINI_PROJECT_DIR|CLAUDE_PROJECT_DIR|GEMINI_CWD|PWD)\}?/g, () => cwd)
        .replace(/\$\{?(?:extensionPath|CLAUDE_PLUGIN_ROOT)\}?/g, () => dirname(file)),
      cwd,
      env.HOME,
    ),
  ]);
  const found = [
    sources,
    ...nested.map((each) => each.sources),
    linked,
    listDotfiles(env.HOME),
    installed,
    servers,
    hooks,
  ];
  return found.flat().flatMap((path) => resolveLinks(path) ?? []);
}

/** Shells, git and editors read them there: `~/.bashrc -> ~/dotfiles/bashrc`. */
function listDotfiles(home: string | undefined): readonly string[] {
  if (home === undefined) return [];
  const own = listLinked(home, 1).filter((path) => basename(path).startsWith('.'));
  return [...own, ...listLinked(join(home, '.config'), MAX_LINK_DEPTH)];
}

const USER_PLACES = ['skills', 'agents', 'commands', 'templates', 'hooks', 'policies', 'extensions'];
const EXTENSION_PLACES = ['hooks', 'commands', 'skills', 'agents', '.env'];
const MAX_LINK_DEPTH = 2;
const MAX_LINKS = 1000;

/** Links in a directory, and further down, by where they lead; the directory itself, if it is one. */
function listLinked(directory: string, depth: number): readonly string[] {
  if (findFileKind(directory) === 'link') return [directory];
  if (depth === 0) return [];
  return listDirectoryEntries(directory)
    .slice(0, MAX_LINKS)
    .flatMap(({ name, kind }) => {
      const path = join(directory, name);
      if (kind === 'link') return [path];
      return kind === 'directory' ? listLinked(path, depth - 1) : [];
    });
}
