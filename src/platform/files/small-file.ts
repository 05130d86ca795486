import { closeSync, constants, fstatSync, openSync, readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { AppError } from '../../core/error.ts';
import { parseJson } from '../../core/json.ts';

const MAX_BYTES = 10_000_000;

/**
 * The text of a small file that configures us; undefined if there is none. Synchronous, because it stands between
 * argv and the request. Never blocks on a FIFO. Throws AppError `config` if it is there and cannot be read.
 */
export function readStateFile(path: string): string | undefined {
  let descriptor: number | undefined;
  try {
    // Most of these files are not there, and an exception for each would cost a start more than reading them.
    if (statSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const status = fstatSync(descriptor);
    if (!status.isFile()) throw unreadable(path, 'it is not a regular file');
    if (status.size > MAX_BYTES) throw unreadable(path, 'it is larger than 10 MB');
    return readFileSync(descriptor, 'utf8');
  } catch (thrown) {
    if (thrown instanceof AppError) throw thrown;
    const { code, message } = errno(thrown);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw unreadable(path, message, thrown);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function errno(thrown: unknown): { code: string; message: string } {
  if (!(thrown instanceof Error)) return { code: '', message: String(thrown) };
  return {
    code: 'code' in thrown ? String(thrown.code) : '',
    message: thrown.message,
  };
}

function unreadable(path: string, why: string, cause?: unknown): AppError {
  return new AppError('config', `cannot read ${path}: ${why}`, {
    cause,
    hint: 'Mend or remove that file.',
  });
}

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
