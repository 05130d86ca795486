import { appendFileSync } from 'node:fs';
import { appendFile, open, readdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { readTextFile } from './read.ts';
import { createWriteError, makePrivateDirectory, WRITE_HINT } from './write.ts';

export interface RecordDirectory {
  names(): Promise<readonly string[]>;
  read(name: string, maxBytes?: number): Promise<string | undefined>;
  /** Undefined if missing. `changedAt` is in milliseconds since the epoch. */
  status(name: string): Promise<{ readonly size: number; readonly changedAt: number } | undefined>;
  /** Throws AppError `config` if it cannot be written; a part of `text` may be in the file then. */
  append(name: string, text: string, options?: { readonly isSynced?: boolean }): Promise<void>;
  /** For a file that is appended to more than once. Rejects if it cannot be opened or created. */
  open(name: string): Promise<RecordFile>;
  remove(name: string): Promise<void>;
}

/** Stays open, so that appending does not wait for Node's thread pool, which other work may fill. */
export interface RecordFile {
  append(text: string): void;
  close(): Promise<void>;
}

/** Private files of one directory. What is not synced survives a killed process, but not a power failure. */
export function recordDirectory(directory: string): RecordDirectory {
  let made: Promise<void> | undefined;
  const ensureDirectory = (): Promise<void> => {
    made ??= makePrivateDirectory(directory).catch((thrown: unknown) => {
      made = undefined;
      throw thrown;
    });
    return made;
  };
  return {
    names: () => readdir(directory).catch(() => []),
    read: (name, maxBytes) => readTextFile(join(directory, name), maxBytes).catch(() => undefined),
    async status(name) {
      const found = await stat(join(directory, name)).catch(() => undefined);
      return found && { size: found.size, changedAt: found.mtimeMs };
    },
    async append(name, text, { isSynced = false } = {}) {
      await ensureDirectory();
      const path = join(directory, name);
      await appendFile(path, text, { mode: 0o600, flush: isSynced }).catch((cause: unknown) => {
        throw createWriteError('config', { name: path, cause, hint: WRITE_HINT });
      });
    },
    async open(name) {
      await ensureDirectory();
      const file = await open(join(directory, name), 'a', 0o600);
      return { append: (text) => appendFileSync(file.fd, text), close: () => file.close().catch(() => {}) };
    },
    remove: (name) => unlink(join(directory, name)).catch(() => {}),
  };
}
