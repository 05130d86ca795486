import { closeSync, createReadStream, rmSync } from 'node:fs';
import { type FileHandle, mkdtemp, open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onProcessExit } from '../runtime/exit.ts';

/** Private temporary files for data that does not fit in memory. */
export interface Spool {
  create(): Promise<SpoolFile>;
  /** Removes all its files, those that are still written to as well. So does the end of the process. */
  close(): Promise<void>;
}

export interface SpoolFile {
  readonly path: string;
  readonly bytes: number;
  append(chunk: Uint8Array): Promise<void>;
  finish(): Promise<void>;
  digest(): string;
  read(): AsyncGenerator<Uint8Array, void>;
  remove(): Promise<void>;
}

const READ_BYTES = 64 * 1024;

export function createSpool(): Spool {
  /** Windows removes no directory with an open file in it. */
  const handles = new Set<FileHandle>();
  let directory: Promise<string> | undefined;
  let created = 0;
  let path: string | undefined;
  let ignoreExit = (): void => {};
  const remove = (): void => {
    if (path !== undefined) rmSync(path, { recursive: true, force: true });
  };
  const makeDirectory = async (): Promise<string> => {
    path = await mkdtemp(join(tmpdir(), 'gmn-'));
    ignoreExit = onProcessExit(() => {
      for (const { fd } of handles) closeSync(fd);
      remove();
    });
    return path;
  };
  return {
    async create() {
      directory ??= makeDirectory();
      created += 1;
      return createSpoolFile(join(await directory, `${created}`), handles);
    },
    async close() {
      ignoreExit();
      await Promise.all([...handles].map((handle) => handle.close()));
      remove();
    },
  };
}

function createSpoolFile(path: string, handles: Set<FileHandle>): SpoolFile {
  const hash = process.getBuiltinModule('node:crypto').createHash('sha256');
  let bytes = 0;
  let handle: FileHandle | undefined;
  const finish = async (): Promise<void> => {
    if (handle === undefined) return;
    handles.delete(handle);
    await handle.close();
    handle = undefined;
  };
  return {
    path,
    get bytes() {
      return bytes;
    },
    async append(chunk) {
      handle ??= await open(path, 'a', 0o600);
      handles.add(handle);
      for (let written = 0; written < chunk.length; ) {
        const { bytesWritten } = await handle.write(chunk, written);
        written += bytesWritten;
      }
      hash.update(chunk);
      bytes += chunk.length;
    },
    finish,
    digest: () => hash.copy().digest('hex'),
    async *read() {
      if (bytes === 0) return;
      for await (const chunk of createReadStream(path, { highWaterMark: READ_BYTES })) yield chunk;
    },
    async remove() {
      await finish();
      await unlink(path).catch(() => {});
    },
  };
}
