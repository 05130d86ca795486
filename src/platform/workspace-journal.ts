import { constants } from 'node:fs';
import { type FileHandle, open, readFile, rename, rmdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../core/error.ts';
import { makePrivateDirectory } from './atomic-file.ts';
import { errnoOf, reasonOf } from './errno.ts';
import { fingerprint } from './workspace-file.ts';

/** Lines that are only ever added to, and bytes found again by their fingerprint. For the user's eyes only. */
export interface JournalFiles {
  /** Adds a line; it is on the disk when this resolves. Throws AppError `config`. */
  append(line: string): Promise<void>;
  /** All lines, oldest first; none if there is no file. Throws AppError `config`. */
  lines(): Promise<readonly string[]>;
  /** Keeps bytes, and says under which fingerprint. Throws AppError `config`. */
  keep(bytes: Uint8Array): Promise<string>;
  /** What was kept. Throws AppError `config` if it is gone, or not what it was. */
  fetch(print: string): Promise<Uint8Array>;
}

/** Removes a directory that has nothing in it; false if it has, or is none. Never throws. */
export async function removeEmptyDirectory(path: string): Promise<boolean> {
  return rmdir(path).then(
    () => true,
    () => false,
  );
}

const LINE_FEED = 10;

/** The files of a journal in a directory, which is made when something is first written. */
export function journalFiles(directory: string): JournalFiles {
  const index = join(directory, 'changes.jsonl');
  const blobs = join(directory, 'blobs');
  return {
    append: (line) => writing(index, () => appendLine(directory, index, line)),
    lines: () =>
      writing(index, async () => {
        const text = await readFile(index, 'utf8').catch((thrown: unknown) => {
          if (errnoOf(thrown) === 'ENOENT') return '';
          throw thrown;
        });
        return text.split('\n').filter((line) => line !== '');
      }),
    keep: (bytes) => writing(blobs, () => keepBlob(blobs, bytes)),
    fetch: async (print) => {
      const bytes = await readFile(join(blobs, print)).catch(() => undefined);
      if (bytes !== undefined && fingerprint(bytes) === print) return bytes;
      throw new AppError('config', 'what was there before is not kept any more', {
        hint: 'It was removed from the undo directory, or damaged there.',
      });
    },
  };
}

async function writing<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof AppError) throw thrown;
    throw new AppError('config', `cannot use the undo journal ${path}: ${reasonOf(thrown)}`, {
      cause: thrown,
      hint: 'Check the free space and the permissions there.',
    });
  }
}

async function appendLine(directory: string, path: string, line: string): Promise<void> {
  await makePrivateDirectory(directory);
  const handle = await open(path, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT, 0o600);
  try {
    // What a crash left of a line must not swallow this one.
    const start = (await endsInFeed(handle)) ? '' : '\n';
    await handle.appendFile(`${start}${line}\n`);
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

async function endsInFeed(handle: FileHandle): Promise<boolean> {
  const { size } = await handle.stat();
  if (size === 0) return true;
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0] === LINE_FEED;
}

async function keepBlob(blobs: string, bytes: Uint8Array): Promise<string> {
  const print = fingerprint(bytes);
  const path = join(blobs, print);
  if ((await stat(path).catch(() => undefined))?.size === bytes.length) return print;
  await makePrivateDirectory(blobs);
  const temporary = `${path}.${process.pid}.${process.hrtime.bigint().toString(36)}.tmp`;
  const handle = await open(temporary, 'wx', 0o600);
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } catch (thrown) {
    await unlink(temporary).catch(() => {});
    throw thrown;
  } finally {
    await handle.close();
  }
  await rename(temporary, path);
  return print;
}
