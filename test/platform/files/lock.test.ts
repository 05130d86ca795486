import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { acquireLock, type LockOptions } from '../../../src/platform/files/lock.ts';
import { identifySelf } from '../../../src/platform/process/identity.ts';
import { systemClock } from '../../../src/platform/runtime/clock.ts';
import { fifo, isWindows, posixTest } from '../../support/posix.ts';
import { temporary } from '../../support/temporary.ts';

function lockPath(): string {
  return join(temporary(), 'locks', 'refresh');
}

const OPTIONS: LockOptions = {
  clock: systemClock,
  signal: new AbortController().signal,
  maxWaitMs: 60_000,
  isDone: async () => false,
};

function owner(changes: object): string {
  return JSON.stringify({ pid: process.pid, host: hostname(), began: '', nonce: 'theirs', ...changes });
}

test('one at a time holds the lock, and releasing it lets the next one in', async () => {
  const path = lockPath();
  const order: string[] = [];
  const first = await acquireLock(path, OPTIONS);
  const second = acquireLock(path, OPTIONS).then((lock) => {
    order.push('second');
    return lock;
  });
  order.push('first');
  await first?.release();
  const lock = await second;
  expect([order, first?.isHeld, lock?.isHeld]).toEqual([['first', 'second'], true, true]);
  await lock?.release();
  expect(readdirSync(join(path, '..'))).toEqual([]);
});

test('a wait ends when what the lock was wanted for is done', async () => {
  const path = lockPath();
  const holder = await acquireLock(path, OPTIONS);
  expect(await acquireLock(path, { ...OPTIONS, isDone: async () => true })).toBeUndefined();
  await holder?.release();
});

test('a wait ends without the lock after its time limit, and the owner keeps it', async () => {
  const path = lockPath();
  const holder = await acquireLock(path, OPTIONS);
  const lock = await acquireLock(path, { ...OPTIONS, maxWaitMs: 0 });
  expect(lock?.isHeld).toBe(false);
  await lock?.release();
  expect(existsSync(path)).toBe(true);
  await holder?.release();
});

test('a wait ends with the signal', async () => {
  const path = lockPath();
  const holder = await acquireLock(path, OPTIONS);
  const controller = new AbortController();
  const waiting = acquireLock(path, { ...OPTIONS, signal: controller.signal });
  controller.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  await holder?.release();
});

test.for<[what: string, text: string, ageMs: number, isTaken: boolean]>([
  ['whose owner is dead', owner({ pid: 2 ** 30 }), 0, true],
  // Only Linux says when a process began.
  ['whose owner began at another time', owner({ began: '1' }), 0, process.platform === 'linux'],
  ['of another machine that is not touched', owner({ host: 'elsewhere' }), 11_000, true],
  ['of another machine that is touched', owner({ host: 'elsewhere', pid: 2 ** 30 }), 0, false],
  ['that names nobody, and is old', '', 11_000, true],
  ['that names nobody yet', '', 0, false],
  ['from the future', owner({ host: 'elsewhere' }), -60_000, true],
  // Whoever made a folder may have put one of gigabytes beside an output.
  ['of one who is gone, but longer than gmn writes any', owner({ pid: 2 ** 30 }).padEnd(5000), 0, false],
])('a lock %s is taken or respected, also by who takes from the gone only', async ([, text, ageMs, isTaken]) => {
  const path = lockPath();
  mkdirSync(join(path, '..'), { recursive: true });
  for (const takesFrom of [undefined, 'gone'] as const) {
    writeFileSync(path, text);
    const touched = new Date(Date.now() - ageMs);
    utimesSync(path, touched, touched);
    const lock = await acquireLock(path, { ...OPTIONS, maxWaitMs: 0, takesFrom });
    expect(lock?.isHeld).toBe(isTaken);
    await lock?.release();
    expect(readdirSync(join(path, '..'))).toEqual(isTaken ? [] : ['refresh']);
  }
});

test('the lock of a dead owner is not taken from the one who has just got it', async () => {
  const path = lockPath();
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, owner({ pid: 2 ** 30 }));
  const waiting = acquireLock(path, { ...OPTIONS, maxWaitMs: 0 });
  const next = JSON.stringify({ ...identifySelf(), nonce: 'next' });
  // The owner has been read for the second time when this file is there; what it means is known in the next turn.
  const swap = (): void => {
    if (existsSync(`${path}.breaking`)) writeFileSync(path, next);
    else setImmediate(swap);
  };
  swap();
  expect(await waiting).toMatchObject({ isHeld: false, isTaken: true });
  expect(readFileSync(path, 'utf8')).toBe(next);
});

test('a lock that was taken from us is not released by us', async () => {
  const path = lockPath();
  const lock = await acquireLock(path, OPTIONS);
  writeFileSync(path, owner({}));
  await lock?.release();
  expect(readFileSync(path, 'utf8')).toBe(owner({}));
});

test('an owner that does not move keeps a lock that is taken from the gone only', async () => {
  const path = lockPath();
  const holder = await acquireLock(path, OPTIONS);
  const touched = Date.now() / 1000 - 3600;
  utimesSync(path, touched, touched);
  const other = await acquireLock(path, { ...OPTIONS, maxWaitMs: 0, takesFrom: 'gone' });
  expect([other?.isHeld, other?.isTaken]).toEqual([false, true]);
  await holder?.release();
  writeFileSync(path, owner({ pid: 2 ** 22 + 1 }));
  const next = await acquireLock(path, { ...OPTIONS, maxWaitMs: 0, takesFrom: 'gone' });
  expect([next?.isHeld, next?.isTaken]).toEqual([true, false]);
  await next?.release();
});

/** Pauses are over at once, so that only their sum counts. */
const HURRIED = { now: () => 0, sleep: async () => {} };

test.runIf(isWindows)('the lock of a killed owner whose number another process has is taken at last', async () => {
  const path = lockPath();
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, owner({}));
  const lock = await acquireLock(path, { ...OPTIONS, clock: HURRIED, takesFrom: 'gone' });
  expect(lock?.isHeld).toBe(true);
  await lock?.release();
});

test.runIf(isWindows)('an owner that goes on touching its lock keeps it, however long another waits', async () => {
  const path = lockPath();
  const holder = await acquireLock(path, OPTIONS);
  let waits = 0;
  const isDone = async (): Promise<boolean> => {
    waits += 1;
    const touchedAt = Date.now() / 1000 - (waits % 2);
    utimesSync(path, touchedAt, touchedAt);
    return waits > 1000;
  };
  expect(await acquireLock(path, { ...OPTIONS, clock: HURRIED, takesFrom: 'gone', isDone })).toBeUndefined();
  await holder?.release();
});

test('where nothing can be written, nobody has the lock, and work goes on without one', async () => {
  const path = lockPath();
  writeFileSync(join(path, '..'), 'a file in the way');
  const lock = await acquireLock(path, OPTIONS);
  expect([lock?.isHeld, lock?.isTaken]).toEqual([false, false]);
  await lock?.release();
});

test('what is in the place of a lock and cannot be removed is waited for no longer than anybody else', async () => {
  const path = lockPath();
  mkdirSync(path, { recursive: true });
  utimesSync(path, 1, 1);
  const lock = await acquireLock(path, { ...OPTIONS, maxWaitMs: 0 });
  expect([lock?.isHeld, lock?.isTaken]).toEqual([false, true]);
});

test('a process that died while it took a lock from a dead one is in nobody’s way', async () => {
  const path = lockPath();
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, owner({ pid: 2 ** 30 }));
  writeFileSync(`${path}.breaking`, '');
  utimesSync(`${path}.breaking`, 1, 1);
  let inside = 0;
  const crowd: number[] = [];
  const enter = async (): Promise<void> => {
    const lock = await acquireLock(path, OPTIONS);
    inside += 1;
    crowd.push(inside);
    await new Promise(setImmediate);
    inside -= 1;
    await lock?.release();
  };
  await Promise.all([enter(), enter(), enter()]);
  expect(crowd).toEqual([1, 1, 1]);
  expect(readdirSync(join(path, '..'))).toEqual([]);
});

posixTest('a FIFO in the place of a lock is not waited for, and gives way like one that names nobody', async () => {
  const path = lockPath();
  mkdirSync(join(path, '..'));
  fifo(path);
  const young = await acquireLock(path, { ...OPTIONS, maxWaitMs: 0, takesFrom: 'gone' });
  utimesSync(path, 0, 0);
  const old = await acquireLock(path, { ...OPTIONS, takesFrom: 'gone' });
  expect([young?.isTaken, old?.isHeld]).toEqual([true, true]);
  await old?.release();
});
