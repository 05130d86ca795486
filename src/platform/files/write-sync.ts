import {
  closeSync,
  constants,
  fchmodSync,
  openSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { errorCode } from '../runtime/system.ts';
import { makeDirectories, temporaryPath } from './path.ts';

/** Also creates its directory. Synchronous: it runs between the answer and the exit. Nothing is left after an error. */
export function writeAtomicSync(path: string, text: string): void {
  const temporary = temporaryPath(path);
  createPrivateFile(temporary, text);
  for (let attempt = 0; ; attempt += 1) {
    try {
      renameSync(temporary, path);
      return;
    } catch (thrown) {
      const delay = nextReplacement(attempt, thrown);
      if (delay === undefined) {
        tryRemoveSync(temporary);
        throw thrown;
      }
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, delay);
    }
  }
}

/**
 * How long to wait before a file is renamed over another one again; undefined: that would be of no use. On Windows a file cannot be
 * replaced while another process reads it (a virus scanner, an editor), which is soon over.
 */
export function nextReplacement(attempt: number, thrown: unknown, platform = process.platform): number | undefined {
  const isTransient = platform === 'win32' && ['EPERM', 'EBUSY', 'EACCES'].includes(errorCode(thrown));
  return isTransient && attempt < REPLACE_RETRIES ? 10 * (attempt + 1) : undefined;
}

/** About two seconds in all: fifty processes that read the same file in turn take more than half of one. */
const REPLACE_RETRIES = 19;

/** Creates a private file, and its directory; `exists`: something has that name, and is left alone. Never throws. */
export function tryCreateExclusive(path: string, text: string): 'created' | 'exists' | 'failed' {
  try {
    createPrivateFile(path, text);
    return 'created';
  } catch (thrown) {
    return errorCode(thrown) === 'EEXIST' ? 'exists' : 'failed';
  }
}

/** Throws system errors; nothing is left then. */
function createPrivateFile(path: string, text: string): void {
  const descriptor = openInDirectory(path, 'wx');
  try {
    // The umask takes bits from the mode given to open.
    fchmodSync(descriptor, 0o600);
    writeFileSync(descriptor, text);
  } catch (thrown) {
    tryRemoveSync(path);
    throw thrown;
  } finally {
    closeSync(descriptor);
  }
}

/** Opens a private file; creates its directory if it is missing. */
function openInDirectory(path: string, flags: string | number): number {
  try {
    return openSync(path, flags, 0o600);
  } catch (thrown) {
    if (errorCode(thrown) !== 'ENOENT') throw thrown;
    makeDirectories(dirname(path));
    return openSync(path, flags, 0o600);
  }
}

/** Adds to a private file, which it creates with its directory, in one write. A link is not followed. Never throws. */
export function tryAppendSync(path: string, text: string): boolean {
  try {
    const descriptor = openInDirectory(path, APPEND);
    try {
      writeSync(descriptor, text);
    } finally {
      closeSync(descriptor);
    }
    return true;
  } catch {
    return false;
  }
}

/** Never blocks on a FIFO. */
const APPEND =
  constants.O_WRONLY |
  constants.O_APPEND |
  constants.O_CREAT |
  (constants.O_NOFOLLOW ?? 0) |
  (constants.O_NONBLOCK ?? 0);

export function tryRenameSync(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch {
    // It is gone, or cannot be renamed.
  }
}

export function tryRemoveSync(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It is gone, or cannot be removed.
  }
}

export function readModifiedTime(path: string): number | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  } catch {
    return undefined;
  }
}
