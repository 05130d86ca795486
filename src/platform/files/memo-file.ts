import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseJson } from '../../core/json.ts';
import { readStateFile } from './small-file.ts';

/**
 * What a small file of ours remembers; undefined if there is none, if it is another user's, or if `parse` makes nothing of
 * it. Synchronous, because it stands between argv and the request. Never throws.
 */
export function readMemo<Memo>(path: string, parse: (value: unknown) => Memo | undefined): Memo | undefined {
  try {
    const status = statSync(path, { throwIfNoEntry: false });
    if (status === undefined || !isOurs(status.uid)) return undefined;
    return parse(parseJson(readStateFile(path) ?? ''));
  } catch {
    return undefined;
  }
}

/** Remembers a value, readable by us alone. It is only a memory aid: if it cannot be written, nothing happens. */
export async function writeMemo(path: string, value: unknown): Promise<void> {
  try {
    const { makePrivateDirectory, replaceFile } = await import('./write.ts');
    await makePrivateDirectory(dirname(path));
    await replaceFile(path, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  } catch {
    // The next run finds out again.
  }
}

/** Whether something of `time` still counts. A time in the future is a clock gone wrong, not a fresh memory. */
export function isRecent(time: number, now: number, withinMs: number): boolean {
  return time <= now && now - time < withinMs;
}

function isOurs(uid: number): boolean {
  return process.getuid === undefined || uid === process.getuid();
}
