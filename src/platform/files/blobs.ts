import { constants } from 'node:fs';
import { readdir, readFile, rename, stat, unlink, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { fingerprint } from './held-file.ts';
import { putSynced, uniqueEnding } from './synced-file.ts';
import { makePrivateDirectory } from './write.ts';

const NAME = /^[0-9a-f]{64}$/;
/** What a process that died while writing left behind. */
const TEMPORARY = /^[0-9a-f]{64}\..*\.tmp$/;
const FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** Bytes that are found again by their fingerprint (SHA-256, hex), each kept once. For the user's eyes only. */
export interface BlobFiles {
  /** Keeps bytes and says under which fingerprint. Throws what the system says. */
  keep(bytes: Uint8Array): Promise<string>;
  /** What was kept; undefined if it is gone, or not what it was. Never throws. */
  fetch(print: string): Promise<Buffer | undefined>;
  /** Removes what `isUnwanted` and was not kept since `before`. Says how many. Never throws. */
  sweep(isUnwanted: (print: string) => boolean, before: number): Promise<number>;
  /** Whether there is anything to sweep. */
  isEmpty(): Promise<boolean>;
}

/** The blobs in a directory, which is made when something is first kept. */
export function blobFiles(directory: string): BlobFiles {
  const names = async (): Promise<readonly string[]> =>
    (await readdir(directory).catch((): string[] => [])).filter((name) => NAME.test(name) || TEMPORARY.test(name));
  const fetch = async (print: string): Promise<Buffer | undefined> => {
    if (!NAME.test(print)) return undefined;
    const bytes = await readFile(join(directory, print), { flag: FLAGS }).catch(() => undefined);
    return bytes !== undefined && fingerprint(bytes) === print ? bytes : undefined;
  };
  return {
    async keep(bytes) {
      const print = fingerprint(bytes);
      const path = join(directory, print);
      // It counts as kept from now on, so that a sweep by another process leaves it alone.
      if ((await fetch(print)) !== undefined && (await touched(path))) return print;
      await makePrivateDirectory(directory);
      await putSynced(path, bytes);
      return print;
    },
    fetch,
    async sweep(isUnwanted, before) {
      let count = 0;
      for (const name of await names()) {
        if (isUnwanted(name) && (await swept(join(directory, name), before))) count += 1;
      }
      return count;
    },
    isEmpty: async () => (await names()).length === 0,
  };
}

function touched(path: string): Promise<boolean> {
  const now = new Date();
  return utimes(path, now, now).then(
    () => true,
    () => false,
  );
}

/** Whether it was old, and is gone. */
async function swept(path: string, before: number): Promise<boolean> {
  try {
    if ((await stat(path)).mtimeMs >= before) return false;
    // Out of reach, and looked at again: who wants to keep it from now on writes it anew, who did so just now has touched it.
    const away = `${path}.${uniqueEnding()}`;
    await rename(path, away);
    const isOld = (await stat(away)).mtimeMs < before;
    await (isOld ? unlink(away) : rename(away, path));
    return isOld;
  } catch {
    return false;
  }
}
