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
  const bytes = Buffer.from(text);
  const temporary = temporaryPath(path);
  const descriptor = openExclusive(temporary);
  try {
    try {
      // On a partial write (disk full) the next write throws the reason.
      for (let written = 0; written < bytes.length; ) written += writeSync(descriptor, bytes, written);
    } finally {
      closeSync(descriptor);
    }
    replaceFileSync(temporary, path);
  } catch (thrown) {
    unlinkSync(temporary);
    throw thrown;
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

/** Gives a complete file the name of another, which it replaces. Throws system errors; the other file is as before then. */
export function replaceFileSync(from: string, to: string): void {
  for (let attempt = 0; ; attempt += 1) {
    try {
      renameSync(from, to);
      return;
    } catch (thrown) {
      const delay = nextReplacement(attempt, thrown);
      if (delay === undefined) throw thrown;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, delay);
    }
  }
}

/** Creates a private file, and its directory; `exists`: something has that name, and is left alone. Never throws. */
export function tryCreateExclusive(path: string, text: string): 'created' | 'exists' | 'failed' {
  let descriptor: number;
  try {
    descriptor = openExclusive(path);
  } catch (thrown) {
    return errorCode(thrown) === 'EEXIST' ? 'exists' : 'failed';
  }
  try {
    // The umask takes bits from the mode given to open.
    fchmodSync(descriptor, 0o600);
    writeFileSync(descriptor, text);
    return 'created';
  } catch {
    tryRemoveSync(path);
    return 'failed';
  } finally {
    closeSync(descriptor);
  }
}

/** Adds to a private file, which it creates with its directory, in one write. A link is not followed. Never throws. */
export function tryAppendSync(path: string, text: string): boolean {
  const open = (): number => openSync(path, APPEND, 0o600);
  try {
    let descriptor: number;
    try {
      descriptor = open();
    } catch (thrown) {
      if (errorCode(thrown) !== 'ENOENT') return false;
      makeDirectories(dirname(path));
      descriptor = open();
    }
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

function openExclusive(path: string): number {
  try {
    return openSync(path, 'wx', 0o600);
  } catch (thrown) {
    if (errorCode(thrown) !== 'ENOENT') throw thrown;
    makeDirectories(dirname(path));
    return openSync(path, 'wx', 0o600);
  }
}

export function readModifiedTime(path: string): number | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  } catch {
    return undefined;
  }
}
