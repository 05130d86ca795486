import { closeSync, openSync, renameSync, statSync, unlinkSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { errnoOf } from '../runtime/system.ts';
import { makeDirectories } from './path.ts';

/**
 * Creates a file, readable by us alone, and its directory too. It appears under its name when it is whole, and
 * takes the place of what has that name. Synchronous, because it stands between the answer and the exit. Throws what the
 * system says; then nothing is left.
 */
export function createWholeFile(path: string, text: string): void {
  const bytes = Buffer.from(text);
  const temporary = `${path}.${process.pid}.tmp`;
  const descriptor = openNew(temporary);
  try {
    try {
      // Where there is room for a part only, the next write says why.
      for (let written = 0; written < bytes.length; ) written += writeSync(descriptor, bytes, written);
    } finally {
      closeSync(descriptor);
    }
    renameSync(temporary, path);
  } catch (thrown) {
    unlinkSync(temporary);
    throw thrown;
  }
}

function openNew(path: string): number {
  try {
    return openSync(path, 'wx', 0o600);
  } catch (thrown) {
    if (errnoOf(thrown) !== 'ENOENT') throw thrown;
    makeDirectories(dirname(path));
    return openSync(path, 'wx', 0o600);
  }
}

/** When a file was last written, in milliseconds since the epoch; undefined if there is none. Never throws. */
export function writtenAt(path: string): number | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  } catch {
    return undefined;
  }
}
