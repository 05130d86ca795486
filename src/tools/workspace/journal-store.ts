import { constants } from 'node:fs';
import { open, readdir, readFile, rmdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../core/error.ts';
import type { Clock } from '../../core/io.ts';
import { appendDurably } from '../../platform/files/append.ts';
import { fingerprint } from '../../platform/files/held-file.ts';
import { acquireLock } from '../../platform/files/lock.ts';
import { makePrivateDirectory, writeAtomic, writeDurably } from '../../platform/files/write.ts';
import { errorCode, errorReason } from '../../platform/runtime/system.ts';

/** O_NONBLOCK: a FIFO in place of the file reads as empty instead of blocking. */
const READ_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** An append-only list of lines, and bytes stored under their fingerprint. Readable by the user only. */
export interface JournalFiles {
  /**
   * Runs work under the journal lock. `isAlone` is false if the lock could not be had in time; another process may be
   * writing then.
   */
  alone<T>(work: (isAlone: boolean) => Promise<T>): Promise<T>;
  /** Appends a line durably. Throws AppError `config`. */
  append(line: string): Promise<void>;
  readonly path: string;
  /** All lines, oldest first; none if there is no file. Throws AppError `config`. */
  lines(): Promise<readonly string[]>;
  /** Stores bytes and returns their fingerprint. Throws AppError `config`. */
  keep(bytes: Uint8Array): Promise<string>;
  /** The stored bytes. Throws AppError `config` if they are gone or damaged. */
  fetch(print: string): Promise<Uint8Array>;
  /** The fingerprints of all stored bytes, with their sizes. Throws AppError `config`. */
  sizes(): Promise<ReadonlyMap<string, number>>;
  /** Replaces all lines atomically. Throws AppError `config`. */
  replaceLines(lines: readonly string[]): Promise<void>;
  /** Deletes stored bytes. Never throws. */
  drop(print: string): Promise<void>;
}

const LOCK_WAIT_MS = 5000;

/** Removes an empty directory; false if it is not empty or no directory. Never throws. */
export async function removeEmptyDirectory(path: string): Promise<boolean> {
  return rmdir(path).then(
    () => true,
    () => false,
  );
}

/** The files of a journal; the directory is created at the first write. */
export function journalFiles(directory: string, clock: Clock): JournalFiles {
  const index = join(directory, 'changes.jsonl');
  const blobs = join(directory, 'blobs');
  return {
    path: index,
    alone: async (work) => {
      const { signal } = new AbortController();
      const options = { clock, signal, patienceMs: LOCK_WAIT_MS, isDone: async () => false };
      const lock = await acquireLock(join(directory, 'lock'), options);
      try {
        return await work(lock?.isHeld === true);
      } finally {
        await lock?.release();
      }
    },
    append: (line) => withJournalError(index, () => appendDurably(index, line)),
    lines: () =>
      withJournalError(index, async () => {
        const text = await readLines(index).catch((thrown: unknown) => {
          if (errorCode(thrown) === 'ENOENT') return '';
          throw thrown;
        });
        return text.split('\n').filter((line) => line !== '');
      }),
    keep: (bytes) => withJournalError(blobs, () => storeBlob(blobs, bytes)),
    fetch: async (print) => {
      const bytes = await readFile(join(blobs, print), { flag: READ_FLAGS }).catch(() => undefined);
      if (bytes !== undefined && fingerprint(bytes) === print) return bytes;
      throw new AppError('config', 'what was there before is not kept any more', {
        hint: 'It was removed from the undo directory, or damaged there.',
      });
    },
    sizes: () => withJournalError(blobs, () => readSizes(blobs)),
    replaceLines: async (lines) => {
      await writeAtomic(
        index,
        lines.map((line) => `${line}\n`),
      );
    },
    drop: (print) => unlink(join(blobs, print)).catch(() => {}),
  };
}

async function readLines(path: string): Promise<string> {
  const handle = await open(path, READ_FLAGS);
  try {
    if (!(await handle.stat()).isFile()) {
      throw new AppError('config', `cannot use the undo journal ${path}: it is not a regular file`, {
        hint: 'Move it away; the changes recorded in it cannot be undone.',
      });
    }
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}

async function withJournalError<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof AppError) throw thrown;
    throw new AppError('config', `cannot use the undo journal ${path}: ${errorReason(thrown)}`, {
      cause: thrown,
      hint: 'Check the free space and the permissions there.',
    });
  }
}

async function readSizes(blobs: string): Promise<ReadonlyMap<string, number>> {
  const sizes = new Map<string, number>();
  for (const name of await readdir(blobs).catch(() => [])) {
    const status = await stat(join(blobs, name)).catch(() => undefined);
    if (status !== undefined) sizes.set(name, status.size);
  }
  return sizes;
}

async function storeBlob(blobs: string, bytes: Uint8Array): Promise<string> {
  const print = fingerprint(bytes);
  const path = join(blobs, print);
  if ((await stat(path).catch(() => undefined))?.size === bytes.length) return print;
  await makePrivateDirectory(blobs);
  await writeDurably(path, bytes);
  return print;
}
