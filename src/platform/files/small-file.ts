import { closeSync, fstatSync, lstatSync, openSync, readFileSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { AppError } from '../../core/error.ts';
import { tryParseJson } from '../../core/json.ts';
import { errorCode } from '../runtime/system.ts';
import { isOurs, READ_FLAGS } from './path.ts';

const MAX_BYTES = 10_000_000;

/** Undefined if missing. Never blocks on a FIFO. Throws AppError `config` if it exists and cannot be read. */
export function readSmallFile(path: string): string | undefined {
  let descriptor: number | undefined;
  try {
    if (statSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
    descriptor = openSync(path, READ_FLAGS);
    const status = fstatSync(descriptor);
    if (!status.isFile()) throw unreadableError(path, 'it is not a regular file');
    if (status.size > MAX_BYTES) throw unreadableError(path, 'it is larger than 10 MB');
    return readFileSync(descriptor, 'utf8');
  } catch (thrown) {
    if (thrown instanceof AppError) throw thrown;
    const code = errorCode(thrown);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw unreadableError(path, thrown instanceof Error ? thrown.message : String(thrown), thrown);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Undefined also if it cannot be read. Never throws. */
export function tryReadSmallFile(path: string): string | undefined {
  try {
    return readSmallFile(path);
  } catch {
    return undefined;
  }
}

function unreadableError(path: string, why: string, cause?: unknown): AppError {
  return new AppError('config', `cannot read ${path}: ${why}`, {
    cause,
    hint: 'Fix or remove that file.',
  });
}

/** Undefined if it is missing, belongs to another user, or `parse` rejects it. Never throws. */
export function readCache<Value>(path: string, parse: (value: unknown) => Value | undefined): Value | undefined {
  try {
    const status = statSync(path, { throwIfNoEntry: false });
    if (status === undefined || !isOurs(status.uid)) return undefined;
    return parse(tryParseJson(readSmallFile(path) ?? ''));
  } catch {
    return undefined;
  }
}

/** Writes a private cache file. Never throws: a cache that cannot be written is skipped. */
export async function writeCache(path: string, value: unknown): Promise<void> {
  try {
    const { makePrivateDirectory, writeAtomic } = await import('./write.ts');
    await makePrivateDirectory(dirname(path));
    await writeAtomic(path, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  } catch {
    // The next run computes it again.
  }
}

/** Whether `time` is at most `withinMs` ago. A time in the future means a wrong clock and does not count. */
export function isRecent(time: number, now: number, withinMs: number): boolean {
  return time <= now && now - time < withinMs;
}

/** Why a system-wide file must not be trusted: others could have written it. On Windows see `findWindowsDistrust`. Never throws. */
export function findDistrust(path: string, owners: 'root' | 'root or me'): string | undefined {
  if (process.getuid === undefined) return undefined;
  const allowed = owners === 'root' ? [0] : [0, process.getuid()];
  try {
    const links = [path, dirname(path)].map((name) => [name, lstatSync(name)] as const);
    const targets = [path, dirname(path)].map((name) => [name, statSync(name)] as const);
    for (const [name, status] of [...links, ...targets]) {
      const why = findWeakness(status, allowed);
      if (why !== undefined) return `${name} ${why}`;
    }
    return undefined;
  } catch {
    return 'its owner cannot be determined';
  }
}

function findWeakness(status: Stats, owners: readonly number[]): string | undefined {
  if (!owners.includes(status.uid)) return 'belongs to another user';
  // The mode of a link means nothing; its target is checked, too.
  return !status.isSymbolicLink() && (status.mode & 0o022) !== 0 ? 'can be written by others' : undefined;
}
