import { rmSync } from 'node:fs';
import { readdir, realpath, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DAY_MS } from '../../core/text/format.ts';
import { onProcessExit } from '../runtime/exit.ts';
import { randomId } from '../runtime/random-id.ts';
import { makePrivateDirectory } from './write.ts';
import { tryCreateExclusive } from './write-sync.ts';

/** For texts that are too long for an answer, under `parent`. What killed runs left there is removed after a day. */
export function createOutputStore(parent: string, now: () => number) {
  const paths = new Set<string>();
  let opened: Promise<RunDirectory> | undefined;
  return {
    /** Until it is closed or the process ends; returns its path, free of links. */
    save: async (text: string): Promise<string | undefined> => {
      try {
        opened ??= openRunDirectory(parent, now());
        const path = join((await opened).path, `${paths.size + 1}.txt`);
        // Reserved before the write: concurrent calls must not share a name.
        paths.add(path);
        return tryCreateExclusive(path, text) === 'created' ? path : undefined;
      } catch {
        return undefined;
      }
    },
    has: (path: string) => paths.has(path),
    close: async (): Promise<void> => {
      const directory = await opened?.catch(() => undefined);
      directory?.remove();
    },
  };
}

interface RunDirectory {
  readonly path: string;
  remove(): void;
}

async function openRunDirectory(parent: string, nowMs: number): Promise<RunDirectory> {
  await makePrivateDirectory(parent);
  await removeOldRuns(parent, nowMs - DAY_MS);
  const path = join(await realpath(parent), randomId());
  await makePrivateDirectory(path);
  const remove = (): void => {
    ignoreExit();
    rmSync(path, { recursive: true, force: true });
  };
  const ignoreExit = onProcessExit(remove);
  return { path, remove };
}

async function removeOldRuns(parent: string, beforeMs: number): Promise<void> {
  for (const name of await readdir(parent)) {
    const path = join(parent, name);
    const status = await stat(path).catch(() => undefined);
    if (status !== undefined && status.mtimeMs < beforeMs) await rm(path, { recursive: true, force: true });
  }
}
