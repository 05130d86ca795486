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
import { type HandleMode, movedError } from './directory-handle.ts';
import { type FileKind, toFileKind } from './path.ts';

// For walks through thousands of directories: synchronous, with pauses.

export interface Entry {
  readonly name: string;
  readonly kind: FileKind;
}

export interface OpenDirectory {
  /** The path prefix for its files. With descriptors it cannot be redirected by renames or links. */
  readonly address: string;
  readonly close: () => void;
}

/** Opens a directory by its real path. Throws `movedError` if something else was opened, and system errors. */
export function openDirectorySync(path: string, mode: HandleMode): OpenDirectory {
  const descriptor = openSync(
    path,
    constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0),
  );
  try {
    const address = mode === 'descriptor' ? `/proc/self/fd/${descriptor}` : path;
    if (mode === 'descriptor' ? readlinkSync(address) !== path : !isSameDirectory(descriptor, path)) throw movedError();
    return { address, close: () => closeSync(descriptor) };
  } catch (thrown) {
    closeSync(descriptor);
    throw thrown;
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
