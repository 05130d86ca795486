import { appendFileSync, constants } from 'node:fs';
import { appendFile, open, readdir, readFile, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { makePrivateDirectory } from './write.ts';

/** Reading a FIFO in place of a file gives nothing instead of blocking. */
const FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

export interface RecordDirectory {
  names(): Promise<readonly string[]>;
  /** Undefined if missing, unreadable, or larger than `maxBytes`. */
  read(name: string, maxBytes?: number): Promise<string | undefined>;
  /** Undefined if missing. `changedAt` is in milliseconds since the epoch. */
  status(name: string): Promise<{ readonly size: number; readonly changedAt: number } | undefined>;
  /** Rejects if it cannot be written; a part of `text` may be in the file then. */
  append(name: string, text: string): Promise<void>;
  /** For a file that is appended to more than once. Rejects if it cannot be opened or created. */
  open(name: string): Promise<RecordFile>;
  remove(name: string): Promise<void>;
}

/** Stays open, so that appending does not wait for Node's thread pool, which other work may fill. */
export interface RecordFile {
  /** Throws if it cannot be written; a part of `text` may be in the file then. */
  append(text: string): void;
  close(): Promise<void>;
}

/** Private files of one directory. Nothing is synced: appended text survives a killed process, but not a power failure. */
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
    async read(name, maxBytes) {
      const file = join(directory, name);
      try {
        if (maxBytes !== undefined && (await stat(file)).size > maxBytes) return undefined;
        return await readFile(file, { encoding: 'utf8', flag: FLAGS });
      } catch {
        return undefined;
      }
    },
    async status(name) {
      const found = await stat(join(directory, name)).catch(() => undefined);
      return found && { size: found.size, changedAt: found.mtimeMs };
    },
    async append(name, text) {
      await ensureDirectory();
      await appendFile(join(directory, name), text, { mode: 0o600 });
    },
    async open(name) {
      await ensureDirectory();
      const file = await open(join(directory, name), 'a', 0o600);
      return { append: (text) => appendFileSync(file.fd, text), close: () => file.close().catch(() => {}) };
    },
    remove: (name) => unlink(join(directory, name)).catch(() => {}),
  };
}
