import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { rename, stat, unlink, utimes } from 'node:fs/promises';
import type { Clock } from '../../core/io.ts';
import { isObject } from '../../core/json.ts';
import { checkProcess, identifySelf, type ProcessIdentity, tryParseProcessIdentity } from '../process/identity.ts';
import { errorCode } from '../runtime/system.ts';
import { READ_FLAGS } from './path.ts';
import { tryCreateExclusive, tryRemoveSync } from './write-sync.ts';

const TOUCH_MS = 1000;
/** Ten missed touches; even an overloaded machine manages one in that time. */
const STALE_MS = 10_000;
/** Where process ids cannot be verified, a lock this old is considered stale. */
const UNKNOWN_OWNER_MS = 86_400_000;
/**
 * On Windows a number may be another process's, and nobody stops one with Ctrl-Z. So an owner that has not touched its lock for this long,
 * while the one who waits was running, is gone. Time in which the machine slept does not count.
 */
const UNTOUCHED_MS = 30_000;
/** An owner stopped with Ctrl-Z. */
const STOPPED_MS = 3000;
/** More than any lock has that gmn writes. */
const MAX_BYTES = 4096;
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 120;

export interface Lock {
  /** False if it could not be acquired (not writable, or timed out): continue with care. */
  readonly isHeld: boolean;
  readonly isTaken: boolean;
  /** A lock that another process has taken over is left alone. */
  release(): Promise<void>;
}

export interface LockOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly maxWaitMs: number;
  /** Checked while waiting; true ends the wait, as the work the lock was for has been done. */
  readonly isDone: () => Promise<boolean>;
  /** Whose lock may be broken: that of an idle owner (default), or only that of one whose process is gone. */
  readonly takesFrom?: 'idle' | 'gone';
}

/**
 * Acquires the lock at `path`; undefined if `isDone` became true first. A dead owner loses the lock; so does one that
 * is stopped or has ceased to touch it, unless `takesFrom` is `gone`. Rejects with the signal's reason, and with what
 * `isDone` throws.
 */
export async function acquireLock(path: string, options: LockOptions): Promise<Lock | undefined> {
  const { clock, signal, maxWaitMs, isDone, takesFrom = 'idle' } = options;
  const giveUpAt = clock.now() + maxWaitMs;
  const untouched = createUntouched(path);
  let pauseMs = FIRST_PAUSE_MS;
  for (;;) {
    signal.throwIfAborted();
    const outcome = tryCreate(path);
    if (typeof outcome === 'object') return outcome;
    if (outcome === 'unwritable') return { isHeld: false, isTaken: false, release: async () => {} };
    if (await isDone()) return undefined;
    if (await breakStaleLock(path, () => isStale(path, takesFrom, untouched.ms()))) continue;
    if (clock.now() >= giveUpAt) return { isHeld: false, isTaken: true, release: async () => {} };
    // Jitter for processes that started at the same time.
    await clock.sleep(pauseMs + (process.pid % 16), signal);
    await untouched.add(pauseMs);
    pauseMs = Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS);
  }
}

/** How long the lock was not touched, by the pauses of the one who waits for it; counted on Windows only. */
function createUntouched(path: string) {
  let [touched, ms] = [0, 0];
  return {
    ms: () => ms,
    async add(pauseMs: number): Promise<void> {
      if (process.platform !== 'win32') return;
      const now = (await stat(path).catch(() => undefined))?.mtimeMs ?? 0;
      ms = now === touched ? ms + pauseMs : 0;
      touched = now;
    },
  };
}

interface Owner extends ProcessIdentity {
  readonly nonce: string;
}

function tryCreate(path: string): Lock | 'taken' | 'unwritable' {
  const nonce = `${process.pid}-${process.hrtime.bigint().toString(36)}`;
  const owner: Owner = { ...identifySelf(), nonce };
  const outcome = tryCreateExclusive(path, JSON.stringify(owner));
  if (outcome === 'created') return createLock(path, nonce);
  return outcome === 'exists' ? 'taken' : 'unwritable';
}

function createLock(path: string, nonce: string): Lock {
  const isOurs = (): boolean => readOwner(path)?.nonce === nonce;
  const refresh = async (): Promise<void> => {
    const now = new Date();
    // A lock that another process has taken over must not be refreshed.
    if (isOurs()) await utimes(path, now, now);
  };
  const touch = setInterval(() => refresh().catch(() => {}), TOUCH_MS);
  touch.unref();
  return {
    isHeld: true,
    isTaken: false,
    async release() {
      clearInterval(touch);
      if (isOurs()) tryRemoveSync(path);
    },
  };
}

async function breakStaleLock(path: string, isStillStale: () => Promise<boolean>): Promise<boolean> {
  if (!(await isStillStale())) return false;
  // Many processes may see the same dead owner; only one at a time may act on it, after checking again.
  const breaking = `${path}.breaking`;
  if (tryCreateExclusive(breaking, '') !== 'created') {
    if (await isAbandoned(breaking)) await removeAbandoned(breaking);
    return false;
  }
  try {
    return (await isStillStale()) && (await removeLock(path));
  } finally {
    await unlink(breaking).catch(() => {});
  }
}

async function removeLock(path: string): Promise<boolean> {
  return unlink(path).then(
    () => true,
    (thrown: unknown) => errorCode(thrown) === 'ENOENT',
  );
}

async function isAbandoned(breaking: string): Promise<boolean> {
  const since = (await stat(breaking).catch(() => undefined))?.mtimeMs;
  return since !== undefined && Math.abs(Date.now() - since) >= STALE_MS;
}

/** Several processes may find it; the rename lets one of them win. If it belongs to a live process, it is put back. */
async function removeAbandoned(breaking: string): Promise<void> {
  const away = `${breaking}.${process.pid}`;
  try {
    await rename(breaking, away);
    await ((await isAbandoned(away)) ? unlink(away) : rename(away, breaking));
  } catch {
    // Another process was faster.
  }
}

async function isStale(path: string, takesFrom: 'idle' | 'gone', untouchedMs: number): Promise<boolean> {
  const owner = readOwner(path);
  const touched = (await stat(path).catch(() => undefined))?.mtimeMs;
  if (touched === undefined) return false;
  const ageMs = Math.abs(Date.now() - touched);
  const state = owner === undefined ? 'unknown' : checkProcess(owner);
  // The owner may have released the lock and exited meanwhile; then another process has it.
  if (state === 'gone') return readOwner(path)?.nonce === owner?.nonce;
  if (takesFrom === 'idle') return ageMs >= STALE_MS || (state === 'stopped' && ageMs >= STOPPED_MS);
  // One without an owner is from a process that died while writing it; on another machine only the age counts.
  if (owner === undefined || state === 'elsewhere') return ageMs >= STALE_MS;
  return state === 'unknown' && (ageMs >= UNKNOWN_OWNER_MS || untouchedMs >= UNTOUCHED_MS);
}

function readOwner(path: string): Owner | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, READ_FLAGS);
    const status = fstatSync(descriptor);
    if (!status.isFile() || status.size > MAX_BYTES) return undefined;
    return tryParseOwner(JSON.parse(readFileSync(descriptor, 'utf8')));
  } catch {
    return undefined;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function tryParseOwner(value: unknown): Owner | undefined {
  const identity = tryParseProcessIdentity(value);
  const nonce = isObject(value) ? value.nonce : undefined;
  return identity !== undefined && typeof nonce === 'string' ? { ...identity, nonce } : undefined;
}
