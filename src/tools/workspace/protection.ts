import system, { basename, dirname, join, type PlatformPath } from 'node:path';
import { contains, isWindowsDevice } from '../../core/text/path.ts';
import { createStepsPattern, foldName, hasSteps, splitSteps } from '../../core/text/secrets.ts';
import { takeBefore } from '../../core/text/trim.ts';
import { entryExists } from '../../platform/files/path.ts';
import {
  PROTECTED_DIRECTORIES,
  PROTECTED_FILES,
  PROTECTED_PAIRS,
  PROTECTED_PATTERNS,
  REPOSITORY_ENTRIES,
} from './protected-lists.ts';

/** Files that tools must not create. Examples (.env.example) are allowed: no program reads them. */
const PROTECTED_NEW_NAMES = /^(?:\.env(?!\.(?:example|sample|template|dist)$)|id_(?:[^.]+$|rsa|dsa|ecdsa|ed25519))/;

const PAIRS = createStepsPattern(PROTECTED_PAIRS);

/** File systems of the kernel, on Linux and macOS; on Windows these are names like any others. */
const SYSTEM_DIRECTORIES = ['/proc', '/sys', '/dev'];
/** A disk in memory, with files like any others. */
const MEMORY_DISK = '/dev/shm';

/** Whether it may be the Windows short name of a protected directory, such as `GIT~1`. */
function isShortForm(segment: string): boolean {
  const stem = /^([^~]{1,6})~\d+$/.exec(segment)?.[1];
  return stem !== undefined && PROTECTED_DIRECTORIES.some((name) => name.slice(1).startsWith(stem.slice(0, 6)));
}

/**
 * Whether nothing may be written there, in any mode: other programs would run or trust it, or it holds keys. `above` is
 * the path of the root; only its directories count. `names` are protected as well.
 */
export function isProtected(path: string, above = '', names: readonly string[] = []): boolean {
  const segments = splitSteps(path);
  const added = names.map(foldName);
  const all = [...splitSteps(above), ...segments];
  return (
    all.some((segment) => PROTECTED_DIRECTORIES.includes(segment)) ||
    hasSteps(all, PAIRS) ||
    segments.some(
      (segment) =>
        PROTECTED_FILES.includes(segment) ||
        added.includes(segment) ||
        PROTECTED_PATTERNS.some((pattern) => pattern.test(segment)) ||
        isShortForm(segment),
    )
  );
}

/**
 * Whether a file at this real path would be part of a git repository that is not in `.git`, or would make a directory
 * one. As git does, this looks upwards, up to the first work tree. No matter in which order, the entry that is last to
 * make a repository is refused, and others of these names are ordinary files.
 */
export function isInRepository(path: string): boolean {
  const directory = dirname(path);
  if (directory === path) return false;
  const added = foldName(basename(path));
  const isThere = (entry: string): boolean => entry.toLowerCase() === added || entryExists(join(directory, entry));
  if (REPOSITORY_ENTRIES.some((entries) => entries.every(isThere))) return true;
  return !entryExists(join(directory, '.git')) && isInRepository(directory);
}

/** Other programs would take a new file of that name for the user's own settings or keys. */
export function isProtectedIfNew(path: string): boolean {
  return PROTECTED_NEW_NAMES.test(foldName(basename(path)));
}

export function isSystemPath(path: string, { sep }: PlatformPath = system): boolean {
  if (sep === '\\') return false;
  return SYSTEM_DIRECTORIES.some((directory) => contains(directory, path)) && !contains(MEMORY_DISK, path);
}

/**
 * A device, a stream of a file, a path without its drive (`C:a`), or a name that most programs of Windows cannot open: they drop the
 * dots and spaces at its end.
 */
export function isWindowsSpecial(path: string): boolean {
  const steps = path.replace(/^[a-z]:(?=[\\/])/i, '').split(/[\\/]/);
  return steps.some(
    (step) =>
      step.includes(':') ||
      isWindowsDevice(foldName(takeBefore(step, '.'))) ||
      (/[. ]$/.test(step) && step !== '.' && step !== '..'),
  );
}

/** Where a path leads by its spelling alone, so that nothing outside is even looked up; undefined: out of the roots. */
export function resolveInside(
  path: string,
  first: string,
  roots: readonly string[],
  paths: PlatformPath = system,
): string | undefined {
  const wanted = paths.resolve(first, path);
  return roots.some((root) => isBelow(root, wanted, paths)) ? wanted : undefined;
}

/**
 * As `contains`, for what may be used: `relative` takes more letters for the same (k and the sign for kelvin) than the file system of
 * Windows does.
 */
export function isBelow(root: string, path: string, paths: PlatformPath = system): boolean {
  const above = paths.resolve(root);
  const start = paths.resolve(path).slice(0, above.length);
  const isSame = start.toUpperCase() === above.toUpperCase() && start.toLowerCase() === above.toLowerCase();
  return isSame && contains(root, path, paths);
}

/** `/`, the home directory, or a directory above it. */
export function isTooBroad(root: string, home: string): boolean {
  return dirname(root) === root || contains(root, home);
}
