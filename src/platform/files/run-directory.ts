import { rmSync } from 'node:fs';
import { readdir, realpath, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DAY_MS } from '../../core/text/format.ts';
import { randomId } from '../runtime/random-id.ts';
import { makePrivateDirectory } from './write.ts';
import { tryCreateExclusive } from './write-sync.ts';

/** For texts that are too long for an answer, under `parent`. What killed runs left there is removed after a day. */
export function createOutputStore(parent: string, now: () => number) {
  const paths = new Set<string>();
  let opened: Promise<string> | undefined;
  return {
    /** Until the process ends; returns its path, free of links. */
    save: async (text: string): Promise<string | undefined> => {
      try {
        opened ??= openRunDirectory(parent, now());
        const path = join(await opened, `${paths.size + 1}.txt`);
        // Reserved before the write: concurrent calls must not share a name.
        paths.add(path);
        return tryCreateExclusive(path, text) === 'created' ? path : undefined;
      } catch {
        return undefined;
      }
    },
    has: (path: string) => paths.has(path),
  };
}

async function openRunDirectory(parent: string, nowMs: number): Promise<string> {
  await makePrivateDirectory(parent);
  await removeOldRuns(parent, nowMs - DAY_MS);
  const directory = join(await realpath(parent), randomId());
  await makePrivateDirectory(directory);
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

async function removeOldRuns(parent: string, beforeMs: number): Promise<void> {
  for (const name of await readdir(parent)) {
    const path = join(parent, name);
    const status = await stat(path).catch(() => undefined);
    if (status !== undefined && status.mtimeMs < beforeMs) await rm(path, { recursive: true, force: true });
  }
}
