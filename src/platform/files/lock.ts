import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { type FileHandle, open, rename, stat, unlink, utimes } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Clock } from '../../core/io.ts';
import { isObject } from '../../core/json.ts';
import { type ProcessIdentity, parseProcessIdentity, stateOf, thisProcess } from '../process/identity.ts';
import { errnoOf } from '../runtime/system.ts';
import { makePrivateDirectory } from './write.ts';

const TOUCH_MS = 1000;
/** Ten missed touches: even a machine short of breath manages one in that time. */
const STALE_MS = 10_000;
/** Where it cannot be told whether a process is still the one it was, after a day it is not. */
const FORGOTTEN_MS = 86_400_000;
/** For an owner that the system says is stopped (Ctrl-Z), a shorter wait is enough. */
const STOPPED_MS = 3000;
/** What stands in the place of a lock may be a FIFO, on which a plain open would wait for ever. */
const READ_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 120;

/** A lock shared by processes. */
export interface Lock {
  /** False if the lock could not be had (nowhere to write, waited too long): go on, with care. */
  readonly isHeld: boolean;
  /** Whether somebody else holds it. */
  readonly isTaken: boolean;
  /** Lets others in. Never throws; a lock that was taken from us in the meantime is left alone. */
  release(): Promise<void>;
}

export interface LockOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** How long to wait for an owner that is alive. */
  readonly patienceMs: number;
  /** Asked while waiting: true ends the wait, since what the lock was wanted for is done. */
  readonly isDone: () => Promise<boolean>;
  /** Whose lock may be taken away: that of an owner who does not move (unless given), or only that of one who is gone. */
  readonly takesFrom?: 'idle' | 'gone';
}

/**
 * Takes the lock at `path`; undefined if `isDone` came true first. An owner that is dead loses it, and so does, unless it is
 * taken from the gone only, one that was stopped or no longer touches its lock. Rejects with the signal's reason, and with
 * what `isDone` throws.
 */
export async function acquireLock(path: string, options: LockOptions): Promise<Lock | undefined> {
  const { clock, signal, patienceMs, isDone, takesFrom = 'idle' } = options;
  const giveUpAt = clock.now() + patienceMs;
  let pauseMs = FIRST_PAUSE_MS;
  for (;;) {
    signal.throwIfAborted();
    const outcome = await create(path);
    if (typeof outcome === 'object') return outcome;
    if (outcome === 'unwritable') return { isHeld: false, isTaken: false, release: async () => {} };
    if (await isDone()) return undefined;
    if (await takeFromStale(path, () => isStale(path, clock.now(), takesFrom))) continue;
    if (clock.now() >= giveUpAt) return { isHeld: false, isTaken: true, release: async () => {} };
    // Neighbours that started together must not knock together.
    await clock.sleep(pauseMs + (process.pid % 16), signal);
    pauseMs = Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS);
  }
}

interface Owner extends ProcessIdentity {
  readonly nonce: string;
}

async function create(path: string): Promise<Lock | 'taken' | 'unwritable'> {
  let handle: FileHandle | undefined;
  try {
    // It would say EEXIST too, for a file in the way of the directory.
    await makePrivateDirectory(dirname(path));
    handle = await open(path, 'wx', 0o600);
    const nonce = `${process.pid}-${process.hrtime.bigint().toString(36)}`;
    const owner: Owner = { ...(await thisProcess()), nonce };
    await handle.writeFile(JSON.stringify(owner));
    return hold(path, nonce);
  } catch (thrown) {
    if (handle === undefined) return errnoOf(thrown) === 'EEXIST' ? 'taken' : 'unwritable';
    // A full disk: the file is there, but does not say whose it is, and would keep the others waiting.
    await unlink(path).catch(() => {});
    return 'unwritable';
  } finally {
    await handle?.close();
  }
}

function hold(path: string, nonce: string): Lock {
  const isOurs = (): boolean => readOwner(path)?.nonce === nonce;
  const refresh = async (): Promise<void> => {
    const now = new Date();
    // One that was taken from us must not look as if its owner moved.
    if (isOurs()) await utimes(path, now, now);
  };
  const touch = setInterval(() => refresh().catch(() => {}), TOUCH_MS);
  touch.unref();
  return {
    isHeld: true,
    isTaken: false,
    async release() {
      clearInterval(touch);
      if (isOurs()) await unlink(path).catch(() => {});
    },
  };
}

/** True if the lock is gone, because its owner is. */
async function takeFromStale(path: string, isStillStale: () => Promise<boolean>): Promise<boolean> {
  if (!(await isStillStale())) return false;
  // Many may see the same dead owner; only one at a time may act on it, after looking again.
  const breaking = `${path}.breaking`;
  try {
    await (await open(breaking, 'wx', 0o600)).close();
  } catch {
    if (await isAbandoned(breaking)) await takeAway(breaking);
    return false;
  }
  try {
    return (await isStillStale()) && (await isGone(path));
  } finally {
    await unlink(breaking).catch(() => {});
  }
}

/** Removes a lock; false if it stays, because it is no file, or not ours to remove. */
async function isGone(path: string): Promise<boolean> {
  return unlink(path).then(
    () => true,
    (thrown: unknown) => errnoOf(thrown) === 'ENOENT',
  );
}

async function isAbandoned(breaking: string): Promise<boolean> {
  const since = (await stat(breaking).catch(() => undefined))?.mtimeMs;
  return since !== undefined && Math.abs(Date.now() - since) >= STALE_MS;
}

/** Of many who find what a dead process left, one gets it; who got that of a living one instead gives it back. */
async function takeAway(breaking: string): Promise<void> {
  const away = `${breaking}.${process.pid}`;
  try {
    await rename(breaking, away);
    await ((await isAbandoned(away)) ? unlink(away) : rename(away, breaking));
  } catch {
    // Another was faster.
  }
}

async function isStale(path: string, now: number, takesFrom: 'idle' | 'gone'): Promise<boolean> {
  const owner = readOwner(path);
  const touched = (await stat(path).catch(() => undefined))?.mtimeMs;
  if (touched === undefined) return false;
  const ageMs = Math.abs(now - touched);
  const state = owner === undefined ? 'unknown' : await stateOf(owner);
  if (state === 'gone') return true;
  if (takesFrom === 'idle') return ageMs >= STALE_MS || (state === 'stopped' && ageMs >= STOPPED_MS);
  // A lock that names nobody was left by one who died while writing it; elsewhere than here only time can tell.
  if (owner === undefined || state === 'elsewhere') return ageMs >= STALE_MS;
  return state === 'unknown' && ageMs >= FORGOTTEN_MS;
}

/** Synchronous: a handful of bytes, of which a server reads every lock that it lets go of. */
function readOwner(path: string): Owner | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, READ_FLAGS);
    return fstatSync(descriptor).isFile() ? parseOwner(JSON.parse(readFileSync(descriptor, 'utf8'))) : undefined;
  } catch {
    return undefined;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function parseOwner(value: unknown): Owner | undefined {
  const identity = parseProcessIdentity(value);
  const nonce = isObject(value) ? value.nonce : undefined;
  return identity !== undefined && typeof nonce === 'string' ? { ...identity, nonce } : undefined;
}
