import { constants } from 'node:fs';
import { open, readdir, readFile, rename, stat, unlink, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { makePrivateDirectory } from './atomic-file.ts';
import { fingerprint } from './workspace-file.ts';

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
  /** Removes what is not in `wanted` and was not kept since `before`. Says how many. Never throws. */
  sweep(wanted: ReadonlySet<string>, before: number): Promise<number>;
  /** Whether there is anything to sweep. */
  isEmpty(): Promise<boolean>;
}

/** The blobs in a directory, which is made when something is first kept. */
export function blobFiles(directory: string): BlobFiles {
  const names = async (): Promise<readonly string[]> =>
    (await readdir(directory).catch((): string[] => [])).filter((name) => NAME.test(name) || TEMPORARY.test(name));
  return {
    async keep(bytes) {
      const print = fingerprint(bytes);
      const path = join(directory, print);
      const now = new Date();
      const isThere = (await stat(path).catch(() => undefined))?.size === bytes.length;
      // It counts as kept from now on, so that a sweep by another process leaves it alone.
      if (
        isThere &&
        (await utimes(path, now, now).then(
          () => true,
          () => false,
        ))
      )
        return print;
      await makePrivateDirectory(directory);
      await writeWhole(path, bytes);
      return print;
    },
    async fetch(print) {
      if (!NAME.test(print)) return undefined;
      const bytes = await readFile(join(directory, print), { flag: FLAGS }).catch(() => undefined);
      return bytes !== undefined && fingerprint(bytes) === print ? bytes : undefined;
    },
    async sweep(wanted, before) {
      let count = 0;
      for (const name of await names()) {
        const path = join(directory, name);
        const status = wanted.has(name) ? undefined : await stat(path).catch(() => undefined);
        if (status === undefined || status.mtimeMs >= before) continue;
        if (
          await unlink(path).then(
            () => true,
            () => false,
          )
        )
          count += 1;
      }
      return count;
    },
    isEmpty: async () => (await names()).length === 0,
  };
}

async function writeWhole(path: string, bytes: Uint8Array): Promise<void> {
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
}
