import { dirname, join, relative, resolve, sep } from 'node:path';
import { AppError } from '../../core/error.ts';
import { contains, toSlashes } from '../../core/text/path.ts';
import {
  isSensitiveEntry,
  isSensitivePath,
  isState,
  type RootedPath,
  splitAtRoot,
  splitSteps,
} from '../../core/text/secrets.ts';
import { locate } from '../../platform/files/directory-handle.ts';
import { toFileError } from './file-error.ts';
import {
  isBelow,
  isInRepository,
  isProtected,
  isProtectedIfNew,
  isSystemPath,
  isWindowsSpecial,
  resolveInside,
} from './protection.ts';

export interface Place {
  readonly path: string;
  /** As the model knows it: relative to the first root, with slashes; absolute in another root. */
  readonly name: string;
  /** How many trailing steps of `path` do not exist yet. */
  readonly missing: number;
  /** A person must permit reading it. */
  readonly isSensitive: boolean;
  /** It came from a web page or an MCP server. */
  readonly isUntrusted?: boolean;
}

export interface FenceOptions {
  /** The working directory first, then the included directories. */
  readonly roots: readonly string[];
  /** Directories never read or written even inside a root: credentials and sessions. */
  readonly denied?: readonly string[];
  /** More file names that are never written: the context files that instruct models. */
  readonly protectedNames?: readonly string[];
  /**
   * What instructs models about this path, which need not exist, or is run by other programs, with all below. Real paths.
   */
  readonly listWatched?: (path: string) => Promise<readonly string[]>;
  readonly isWindows?: boolean;
}

export interface Fence {
  readonly roots: readonly string[];
  /** Throws AppError `usage` if tools may not use the path, with the same message whether it exists or not. */
  place(path: string, use: 'read' | 'write'): Promise<Place>;
  isListed(path: string): boolean;
  /** Whether the names in this path, of a file that may be read, let one expect a secret. Does not look at the disk. */
  isSecretEntry(path: string): boolean;
  /** From now on these files, by real paths, are guarded: they are read into instructions. */
  protect(paths: readonly string[]): void;
  /**
   * Lets tools write the context file of this name in the working directory, until the returned function is called: the
   * user has asked for it. It is guarded, too.
   */
  permitInstruction(name: string): () => void;
  /** Whether a person must be asked about each change of this file, by its real path, in every mode. Throws AppError `config`. */
  isGuarded(path: string): Promise<boolean>;
  /** Lets tools read what is in this directory, by its real path, though it is outside; links must not lead out of it. */
  allowReading(directory: string): void;
}

const MAX_PATH = 4096;

/** Throws AppError `usage` if a root does not exist. */
export async function createFence({
  roots: spelled,
  denied = [],
  protectedNames = [],
  listWatched = async () => [],
  isWindows = sep === '\\',
}: FenceOptions): Promise<Fence> {
  const roots = spelled.map(requireRoot);
  const closed = [...new Set(denied)].flatMap((path) => [resolve(path), toRealPath(path)]);
  const [first] = roots;
  if (first === undefined)
    throw new AppError('usage', 'there is no directory to work in', { hint: 'Run gmn in a directory.' });
  const state: FenceState = {
    first,
    roots,
    spelled: [...spelled.map((root) => resolve(root)), ...roots],
    denied: closed,
    protectedNames,
    listWatched,
    instructions: [],
    permits: new Set(),
    readable: new Set(),
    isWindows,
  };
  return {
    roots,
    place: (path, use) => requirePlace(state, path, use),
    isListed: (path) => {
      const directory = findReadable(state, path);
      if (directory !== undefined) return !isSensitivePath(splitAtRoot(directory, path).tail);
      return !isDenied(state, path) && !isSensitive(toRootedPath(roots, path));
    },
    isSecretEntry: (path) => {
      const directory = findReadable(state, path);
      // The directories above it, such as ~/.gemini, were decided about when it was opened.
      return isSensitiveEntry(directory === undefined ? path : splitAtRoot(directory, path).tail);
    },
    allowReading: (directory) => void state.readable.add(directory),
    protect: (paths) => void state.instructions.push(...paths),
    permitInstruction: (name) => {
      const permit = { path: join(first, name) };
      state.permits.add(permit);
      return () => void state.permits.delete(permit);
    },
    isGuarded: (path) => isGuarded(state, path),
  };
}

interface FenceState {
  readonly first: string;
  readonly roots: readonly string[];
  readonly spelled: readonly string[];
  readonly denied: readonly string[];
  readonly protectedNames: readonly string[];
  readonly listWatched: (path: string) => Promise<readonly string[]>;
  /** Besides those that `listWatched` gives. */
  readonly instructions: string[];
  /** For context files that may be written all the same, by real paths. */
  readonly permits: Set<{ readonly path: string }>;
  /** Directories outside that may be read, by real paths. */
  readonly readable: Set<string>;
  readonly isWindows: boolean;
}

function requireRoot(root: string): string {
  const located = locate(resolve(root));
  if (located !== undefined && located.rest.length === 0) return located.real;
  throw new AppError('usage', `no such directory: ${root}`, { hint: 'Name one that exists.' });
}

function toRealPath(path: string): string {
  const located = locate(resolve(path));
  return located === undefined ? path : join(located.real, ...located.rest);
}

function isDenied({ denied }: FenceState, path: string): boolean {
  return isSystemPath(path) || isState(path, denied);
}

/** Checks the spelling first, without touching the disk: a path outside must not even be looked up. */
async function requirePlace(state: FenceState, path: string, use: 'read' | 'write'): Promise<Place> {
  const name = path.length > 200 ? `${path.slice(0, 200)}…` : path;
  if (path === '' || path.includes('\0') || Buffer.byteLength(path) > MAX_PATH) {
    throw new AppError('usage', 'this is not a path', { hint: 'Give a path relative to the working directory.' });
  }
  if (state.isWindows && isWindowsSpecial(path)) throw outsideError(name, state);
  const { first, roots, spelled, protectedNames } = state;
  const readable = use === 'read' ? placeReadable(state, path) : undefined;
  if (readable !== undefined) return readable;
  const wanted = resolveInside(path, first, spelled);
  if (wanted === undefined) throw outsideError(name, state);
  const located = locate(wanted);
  if (located === undefined || !isInside(roots, located.real)) throw outsideError(name, state);
  const real = join(located.real, ...located.rest);
  if (isDenied(state, real)) throw outsideError(name, state);
  if (located.fault !== undefined) throw toFileError(located.fault, name);
  const tails = [toRootedPath(roots, real), toRootedPath(spelled, wanted)];
  const isOpened = isPermitted(state, real);
  const isClosed = ({ tail, above }: RootedPath): boolean =>
    isProtected(isOpened ? dirname(tail) : tail, above, protectedNames);
  if (use === 'write' && tails.some(isClosed)) throw protectedError(name);
  if (use === 'write' && located.rest.length > 0 && isProtectedIfNew(real)) throw protectedError(name);
  if (use === 'write' && isInRepository(real)) throw protectedError(name);
  return {
    path: real,
    name: toDisplayPath(state, real),
    missing: located.rest.length,
    isSensitive: tails.some(isSensitive),
  };
}

function findReadable({ readable }: FenceState, path: string): string | undefined {
  // Asked for every entry of a walk.
  return readable.size === 0 ? undefined : [...readable].find((directory) => contains(directory, path));
}

/** Undefined if it is in no directory that was opened for reading, as the fence sees it. */
function placeReadable(state: FenceState, path: string): Place | undefined {
  const wanted = resolve(state.first, path);
  const directory = findReadable(state, wanted);
  const located = directory === undefined ? undefined : locate(wanted);
  if (directory === undefined || located?.rest.length !== 0 || located.fault !== undefined) return undefined;
  const { real } = located;
  if (!contains(directory, real)) return undefined;
  const { tail } = splitAtRoot(directory, real);
  return { path: real, name: toSlashes(real), missing: 0, isSensitive: isSensitivePath(tail) };
}

function isPermitted({ permits }: FenceState, path: string): boolean {
  return [...permits].some((permit) => permit.path === path);
}

async function isGuarded(state: FenceState, path: string): Promise<boolean> {
  if (isPermitted(state, path)) return true;
  const steps = splitSteps(path);
  const listed = await state.listWatched(path);
  // To the most lenient file system, as all names that are protected.
  return [...state.instructions, ...listed].some((watched) =>
    splitSteps(watched).every((step, index) => step === steps[index]),
  );
}

function isInside(roots: readonly string[], path: string): boolean {
  return roots.some((root) => isBelow(root, path));
}

function toRootedPath(roots: readonly string[], path: string): RootedPath {
  return splitAtRoot(roots.findLast((candidate) => contains(candidate, path)) ?? path, path);
}

function isSensitive({ tail, above }: RootedPath): boolean {
  return isSensitivePath(tail, above);
}

function toDisplayPath({ first }: FenceState, path: string): string {
  return toSlashes(contains(first, path) ? relative(first, path) || '.' : path);
}

function outsideError(name: string, { roots }: FenceState): AppError {
  return new AppError('usage', `${name} is outside the workspace`, {
    hint: `Only paths below ${roots.join(' and ')} can be used, and links must not lead out of it.`,
  });
}

function protectedError(name: string): AppError {
  return new AppError('usage', `${name} is protected`, {
    hint: 'Files that other programs run or believe are never written by tools. Tell the user what to change there.',
  });
}

export async function withFileName<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    throw toFileError(thrown, name);
  }
}
