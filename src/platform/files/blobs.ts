import { readdir, readFile, rename, stat, unlink, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256 } from '../runtime/native.ts';
import { isTemporary, READ_FLAGS_NO_LINK, realPath, temporaryPath } from './path.ts';
import { makePrivateDirectory, writeDurably } from './write.ts';

const NAME = /^[0-9a-f]{64}$/;

/** Bytes stored under their fingerprint (SHA-256, hex), each only once. Private to the user. */
export interface BlobStore {
  /** Where the bytes with that fingerprint are, if they are stored; free of links. */
  path(print: string): string;
  put(bytes: Uint8Array): Promise<string>;
  get(print: string): Promise<Buffer | undefined>;
  /** Removes what `isUnwanted` and was not stored since `before`; returns how many. Never throws. */
  prune(isUnwanted: (print: string) => boolean, before: number): Promise<number>;
  isEmpty(): Promise<boolean>;
  /** The size of each, by fingerprint, temporary files included. Never throws. */
  sizes(): Promise<ReadonlyMap<string, number>>;
  remove(print: string): Promise<void>;
}

export function createBlobStore(directory: string): BlobStore {
  const names = async (): Promise<readonly string[]> =>
    (await readdir(directory).catch((): string[] => [])).filter((name) => NAME.test(name) || isTemporary(name));
  const get = async (print: string): Promise<Buffer | undefined> => {
    if (!NAME.test(print)) return undefined;
    const bytes = await readFile(join(directory, print), { flag: READ_FLAGS_NO_LINK }).catch(() => undefined);
    return bytes !== undefined && sha256(bytes) === print ? bytes : undefined;
  };
  return {
    path: (print) => join(realPath(directory) ?? directory, print),
    async put(bytes) {
      const print = sha256(bytes);
      const path = join(directory, print);
      // The new time stamp keeps a concurrent `prune` from removing it.
      if ((await get(print)) !== undefined && (await touch(path))) return print;
      await makePrivateDirectory(directory);
      await writeDurably(path, bytes);
      return print;
    },
    get,
    async prune(isUnwanted, before) {
      let count = 0;
      for (const name of await names()) {
        if (isUnwanted(name) && (await removeIfOld(join(directory, name), before))) count += 1;
      }
      return count;
    },
    isEmpty: async () => (await names()).length === 0,
    async sizes() {
      const sizes = new Map<string, number>();
      for (const name of await names()) {
        const status = await stat(join(directory, name)).catch(() => undefined);
        if (status !== undefined) sizes.set(name, status.size);
      }
      return sizes;
    },
    remove: (print) => unlink(join(directory, print)).catch(() => {}),
  };
}

function touch(path: string): Promise<boolean> {
  const now = new Date();
  return utimes(path, now, now).then(
    () => true,
    () => false,
  );
}

async function removeIfOld(path: string, before: number): Promise<boolean> {
  try {
    if ((await stat(path)).mtimeMs >= before) return false;
    // Renamed first, then checked again: a concurrent `put` either touched it just now, or no longer finds it and
    // writes it again.
    const away = temporaryPath(path);
    await rename(path, away);
    const isOld = (await stat(away)).mtimeMs < before;
    await (isOld ? unlink(away) : rename(away, path));
    return isOld;
  } catch {
    return false;
  }
}
