import { join } from 'node:path';
import { AppError } from '../../core/error.ts';
import type { Clock } from '../../core/io.ts';
import { joinLines } from '../../core/text/trim.ts';
import { appendDurably } from '../../platform/files/append.ts';
import { createBlobStore } from '../../platform/files/blobs.ts';
import { acquireLock } from '../../platform/files/lock.ts';
import { readPathStatus, readTextFile } from '../../platform/files/read.ts';
import { writeAtomic } from '../../platform/files/write.ts';
import { errorReason } from '../../platform/runtime/system.ts';

export type JournalFiles = ReturnType<typeof journalFiles>;

const LOCK_WAIT_MS = 5000;

/**
 * Lines are only added; bytes are stored under their fingerprint. Readable by the user only. The directory is created at
 * the first write.
 */
export function journalFiles(directory: string, clock: Clock) {
  const index = join(directory, 'changes.jsonl');
  const blobPath = join(directory, 'blobs');
  const blobs = createBlobStore(blobPath);
  return {
    path: index,
    /**
     * Runs work under the journal lock. `isLocked` is false if the lock could not be had in time; another process may be
     * writing then.
     */
    async withLock<T>(work: (isLocked: boolean) => Promise<T>): Promise<T> {
      const { signal } = new AbortController();
      const options = { clock, signal, maxWaitMs: LOCK_WAIT_MS, isDone: async () => false };
      const lock = await acquireLock(join(directory, 'lock'), options);
      try {
        return await work(lock?.isHeld === true);
      } finally {
        await lock?.release();
      }
    },
    append: (line: string): Promise<void> => withJournalError(index, () => appendDurably(index, line)),
    /** All lines, oldest first; none if there is no file. Throws AppError `config`. */
    readLines: (): Promise<readonly string[]> =>
      withJournalError(index, async () => {
        const kind = readPathStatus(index)?.kind ?? 'file';
        if (kind !== 'file') {
          throw new AppError('config', `cannot use the undo journal ${index}: it is not a regular file`, {
            hint: 'Move it away; the changes recorded in it cannot be undone.',
          });
        }
        return ((await readTextFile(index)) ?? '').split('\n').filter((line) => line !== '');
      }),
    put: (bytes: Uint8Array): Promise<string> => withJournalError(blobPath, () => blobs.put(bytes)),
    /** Throws AppError `config` if they are gone or damaged. */
    async load(print: string): Promise<Uint8Array> {
      const bytes = await blobs.get(print);
      if (bytes !== undefined) return bytes;
      throw new AppError('config', 'the earlier content is no longer stored', {
        hint: 'It was pruned from the undo directory, or damaged there.',
      });
    },
    readSizes: (): Promise<ReadonlyMap<string, number>> => withJournalError(blobPath, () => blobs.sizes()),
    async replaceLines(lines: readonly string[]): Promise<void> {
      await writeAtomic(index, [joinLines(lines)]);
    },
    drop: (print: string): Promise<void> => blobs.remove(print),
  };
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
