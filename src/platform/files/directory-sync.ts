import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  readlinkSync,
  realpathSync,
  statSync,
} from 'node:fs';
import type { Pace } from '../runtime/pace.ts';
import { errorCode } from '../runtime/system.ts';
import { type FileKind, findFileKind, notDirectoryError, READ_FLAGS_NO_LINK, toFileKind } from './path.ts';

/** Pinned by descriptor where the system exposes descriptors as paths, else by checking the path again. */
export type HandleMode = 'descriptor' | 'path';

export interface Entry {
  readonly name: string;
  readonly kind: FileKind;
}

export interface OpenDirectory {
  /** The path prefix for its files. With descriptors it cannot be redirected by renames or links. */
  readonly address: string;
  /** Throws `movedError` if the path leads to another directory by now; never in mode `descriptor`. */
  readonly verify: () => void;
  readonly close: () => void;
}

/** Has the code `EMOVED`: a path leads elsewhere than a moment ago, because another process changes directories. */
export function movedError(): Error {
  return Object.assign(new Error('the directory was moved'), { code: 'EMOVED' });
}

/**
 * Opens a directory by its real path; `at` is another path to it. Synchronous, for walks through thousands of directories. Throws
 * `movedError` if something else was opened, also for a link, and system errors.
 */
export function openDirectorySync(path: string, mode: HandleMode, at = path): OpenDirectory {
  /** -1 once it is closed: the system may give the number to another file. */
  let descriptor = openDescriptor(at);
  const verifyPath = (): void => {
    if (!isSameDirectory(descriptor, path)) throw movedError();
  };
  const directory = {
    get address() {
      return mode === 'descriptor' ? `/proc/self/fd/${descriptor}` : path;
    },
    verify: mode === 'path' ? verifyPath : () => {},
    close() {
      if (descriptor >= 0) closeSync(descriptor);
      descriptor = -1;
    },
  };
  try {
    // The kernel's own path of what was opened.
    if (mode === 'descriptor' && readlinkSync(directory.address) !== path) throw movedError();
    directory.verify();
    return directory;
  } catch (thrown) {
    directory.close();
    throw thrown;
  }
}

function openDescriptor(path: string): number {
  try {
    // Windows has no such flag, and opens a file.
    if (constants.O_DIRECTORY === undefined && !statSync(path).isDirectory()) throw notDirectoryError();
    return openSync(path, READ_FLAGS_NO_LINK | (constants.O_DIRECTORY ?? 0));
  } catch (thrown) {
    // A link gives ELOOP, or on Linux ENOTDIR, as a file does.
    const isMoved = errorCode(thrown) === 'ELOOP' || (errorCode(thrown) === 'ENOTDIR' && findFileKind(path) === 'link');
    throw isMoved ? movedError() : thrown;
  }
}

function isSameDirectory(descriptor: number, path: string): boolean {
  const opened = fstatSync(descriptor);
  const now = statSync(path);
  return realpathSync(path) === path && opened.dev === now.dev && opened.ino === now.ino;
}

/** Sorted by name and read in small steps. Throws the signal's reason. */
export async function readEntries(address: string, pace: Pace): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  const directory = opendirSync(address, { bufferSize: 256 });
  try {
    for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
      entries.push({ name: entry.name, kind: toFileKind(entry) });
      pace.count();
      if (pace.isDue()) await pace.yieldToLoop();
      if (pace.findStopReason() !== undefined) break;
    }
  } finally {
    directory.closeSync();
  }
  return entries.sort((left, right) => (left.name < right.name ? -1 : 1));
}

export function readSize(address: string): number | undefined {
  return lstatSync(address, { throwIfNoEntry: false })?.size;
}
