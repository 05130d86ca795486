import { closeSync, mkdirSync, openSync, statSync, unlinkSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { errnoOf } from './errno.ts';

/**
 * Creates a file, readable by us alone, with one write; its directory too. Synchronous, because it stands between the
 * answer and the exit. Throws what the system says, also if the file exists; a part of a file never stays.
 */
export function createWholeFile(path: string, text: string): void {
  const bytes = Buffer.from(text);
  const descriptor = openNew(path);
  try {
    if (writeSync(descriptor, bytes) < bytes.length) throw new Error('there is no room');
  } catch (thrown) {
    unlinkSync(path);
    throw thrown;
  } finally {
    closeSync(descriptor);
  }
}

function openNew(path: string): number {
  try {
    return openSync(path, 'wx', 0o600);
  } catch (thrown) {
    if (errnoOf(thrown) !== 'ENOENT') throw thrown;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
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
