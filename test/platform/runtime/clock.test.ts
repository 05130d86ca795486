import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createDeadline, startTimer, systemClock } from '../../../src/platform/runtime/clock.ts';
import { standStill } from '../../support/stopped.ts';

const NEVER = new AbortController().signal;
const LONG_MS = 3_600_000;

test('a deadline says when it ends, and not while it is paused', () => {
  const before = Date.now();
  const limit = createDeadline(NEVER, LONG_MS, () => new Error('late'));
  const first = limit.endsAt() ?? 0;
  expect(first).toBeGreaterThanOrEqual(before + LONG_MS);
  expect(first).toBeLessThanOrEqual(Date.now() + LONG_MS);
  const resume = limit.pause();
  expect(limit.endsAt()).toBeUndefined();
  resume();
  expect(limit.endsAt()).toBeGreaterThanOrEqual(first);
  limit.clear();
});

test('without a limit there is no end', () => {
  const limit = createDeadline(NEVER, 0, () => new Error('late'));
  expect([limit.endsAt(), limit.signal]).toEqual([undefined, NEVER]);
});

test('it aborts with the given reason when its time is over', async () => {
  const reason = new Error('late');
  const { signal } = createDeadline(NEVER, 1, () => reason);
  await new Promise((resolve) => signal.addEventListener('abort', resolve));
  expect(signal.reason).toBe(reason);
});

test('it runs only while nobody pauses it, however many do, in whatever order, and with whatever restarts', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.constantFrom('pause', 'restart'), fc.nat(5))), (steps) => {
      const limit = createDeadline(NEVER, LONG_MS, () => new Error('late'));
      const resumes: (() => void)[] = [];
      const paused = new Set<() => void>();
      for (const step of steps) {
        if (step === 'pause') paused.add(resumes[resumes.push(limit.pause()) - 1] as () => void);
        else if (step === 'restart') limit.restart();
        else {
          // Also one that was called before: it counts once.
          const resume = resumes[Number(step)];
          resume?.();
          if (resume !== undefined) paused.delete(resume);
        }
        expect(limit.endsAt() === undefined).toBe(paused.size > 0);
      }
      limit.clear();
    }),
  );
});

test('a second pause takes no time from it', async () => {
  const limit = createDeadline(NEVER, LONG_MS, () => new Error('late'));
  const first = limit.endsAt() ?? 0;
  const resume = limit.pause();
  await standStill(50);
  limit.pause()();
  resume();
  expect(limit.endsAt()).toBeGreaterThanOrEqual(first + 45);
  limit.clear();
});

test('a restart gives it its full time again, also during a pause', async () => {
  const limit = createDeadline(NEVER, LONG_MS, () => new Error('late'));
  const first = limit.endsAt() ?? 0;
  await standStill(50);
  limit.restart();
  const second = limit.endsAt() ?? 0;
  expect(second).toBeGreaterThanOrEqual(first + 45);
  await standStill(50);
  const resume = limit.pause();
  limit.restart();
  resume();
  expect(limit.endsAt()).toBeGreaterThanOrEqual(second + 45);
  limit.clear();
});

/** Two ends of a connection: what is written to one is in the system's hands at once, and read from the other when there is time. */
async function connection(t: { onTestFinished(action: () => void): void }) {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const near = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [[far]] = await Promise.all([once(server, 'connection'), once(near, 'connect')]);
  t.onTestFinished(() => {
    near.destroy();
    far.destroy();
    server.close();
  });
  return { near, far };
}

const TIMERS = [
  ['startTimer', (ms: number) => new Promise<void>((resolve) => void startTimer(ms, resolve))],
  ['sleep', (ms: number) => systemClock.sleep(ms, NEVER)],
  ['deadline', (ms: number) => once(createDeadline(NEVER, ms, () => new Error('late')).signal, 'abort')],
] as const;

test.for(TIMERS)('%s: what has arrived is read before it, however late it is', async ([, wait], t) => {
  for (const lateMs of [1, 100]) {
    const { near, far } = await connection(t);
    const seen: string[] = [];
    near.on('data', () => seen.push('data'));
    const over = wait(20).then(() => seen.push('timer'));
    far.write('x');
    await standStill(20 + lateMs);
    await over;
    expect(seen).toEqual(['data', 'timer']);
  }
});

test('a stopped timer never fires, whenever it was stopped', async () => {
  startTimer(0, () => expect.unreachable())();
  const stop = startTimer(0, () => expect.unreachable());
  setTimeout(stop, 0);
  await systemClock.sleep(20, NEVER);
});
