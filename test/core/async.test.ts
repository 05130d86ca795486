import { expect, test } from 'vitest';
import { createLimit, createLocks, createSerial, shareWork } from '../../src/core/async.ts';

/** Work that lasts until it is told to end, or its signal tells it to. */
function held() {
  const runs: { readonly key: string; readonly signal: AbortSignal; end(value: string): void }[] = [];
  const share = shareWork(
    (key: string, signal) =>
      new Promise<string>((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        runs.push({ key, signal, end: resolve });
      }),
  );
  return { share, runs };
}

const { signal } = new AbortController();

test('callers with the same key share one piece of work, others have their own', async () => {
  const { share, runs } = held();
  const results = [share('a', signal), share('a', signal), share('b', signal)];
  for (const run of runs) run.end(run.key.toUpperCase());
  expect(await Promise.all(results)).toEqual(['A', 'A', 'B']);
  const again = share('a', signal);
  runs.at(-1)?.end('new');
  expect([await again, runs.length]).toEqual(['new', 3]);
});

test('a caller that aborts, even the first one, does not disturb the others', async () => {
  const { share, runs } = held();
  const first = new AbortController();
  const leaving = share('a', first.signal);
  const staying = share('a', signal);
  first.abort(new Error('enough'));
  await expect(leaving).rejects.toThrow('enough');
  expect(runs[0]?.signal.aborted).toBe(false);
  runs[0]?.end('done');
  expect(await staying).toBe('done');
});

test('work is aborted with its last caller, and a later caller starts it again', async () => {
  const { share, runs } = held();
  const only = new AbortController();
  const leaving = share('a', only.signal);
  only.abort(new Error('enough'));
  await expect(leaving).rejects.toThrow('enough');
  const later = share('a', signal);
  runs[1]?.end('done');
  expect([await later, runs[0]?.signal.reason]).toEqual(['done', new Error('enough')]);
});

test('aborted work ends before the same work starts again', async () => {
  const order: string[] = [];
  let cleanUp = (): void => {};
  const share = shareWork(async (_: 'x', stop) => {
    order.push('start');
    if (order.length > 1) return 'second';
    await new Promise((resolve) => stop.addEventListener('abort', resolve));
    order.push('stopped');
    await new Promise<void>((resolve) => {
      cleanUp = resolve;
    });
    order.push('cleaned up');
    throw stop.reason;
  });
  const only = new AbortController();
  const leaving = share('x', only.signal);
  leaving.catch(() => {});
  only.abort(new Error('enough'));
  await expect.poll(() => order).toContain('stopped');
  const later = share('x', signal);
  cleanUp();
  await expect(leaving).rejects.toThrow('enough');
  expect([await later, order]).toEqual(['second', ['start', 'stopped', 'cleaned up', 'start']]);
});

test('a failure reaches every caller and is not cached', async () => {
  let count = 0;
  const share = shareWork(async (_: 'x') => {
    count += 1;
    if (count === 1) throw new Error('no');
    return count;
  });
  const results = await Promise.allSettled([share('x', signal), share('x', signal)]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await share('x', signal)).toBe(2);
});

test('a caller that is already aborted starts nothing', async () => {
  const { share, runs } = held();
  await expect(share('a', AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
  expect(runs).toEqual([]);
});

test('a serial runs one after the other, and a failure reaches its caller only', async () => {
  const inOrder = createSerial();
  const order: string[] = [];
  const run = (name: string, turns: number, error?: Error) =>
    inOrder(async () => {
      order.push(`${name} starts`);
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
      order.push(`${name} ends`);
      if (error !== undefined) throw error;
      return name;
    });
  const results = [run('a', 5), run('b', 3, new Error('b fails')), run('c', 0)];
  expect(await Promise.allSettled(results)).toMatchObject([
    { value: 'a' },
    { reason: new Error('b fails') },
    { value: 'c' },
  ]);
  expect(order).toEqual(['a starts', 'a ends', 'b starts', 'b ends', 'c starts', 'c ends']);
});

test('a place that is given back twice is free once', async () => {
  const limit = createLimit({ maxRunning: 1 });
  const release = await limit.acquire();
  const [second, third] = [limit.acquire(), limit.acquire()];
  release();
  release();
  const started: string[] = [];
  void third.then(() => started.push('third'));
  const releaseSecond = await second;
  expect(started).toEqual([]);
  releaseSecond();
  await third;
});

test('a queue runs up to its limit, then in order, and refuses when it is full', async () => {
  const overloadError = (running: number, waiting: number) => new Error(`${running} running, ${waiting} waiting`);
  const queue = createLimit({ maxRunning: 1, maxQueued: 2, overloadError });
  const order: string[] = [];
  const leaving = new AbortController();
  let open: () => void = () => {};
  const held = new Promise<void>((resolve) => {
    open = resolve;
  });
  const first = queue.run(() => held, { signal });
  const second = queue.run(async () => void order.push('second'), { signal: leaving.signal });
  const third = queue.run(async () => void order.push('third'), { signal });
  expect(() => queue.run(async () => {}, { signal })).toThrow('1 running, 2 waiting');
  leaving.abort(new Error('left the line'));
  await expect(second).rejects.toThrow('left the line');
  const fourth = queue.run(async () => void order.push('fourth'), { signal });
  open();
  await Promise.all([first, third, fourth]);
  expect(order).toEqual(['third', 'fourth']);
  await expect(queue.run(async () => 'again', { signal })).resolves.toBe('again');
});

test('work that waits for a key takes no place from others, and runs when all have released it', async () => {
  const inUse = createLocks();
  const queue = createLimit({ maxRunning: 1, locks: inUse });
  const order: string[] = [];
  const free = [inUse.lock('k'), inUse.lock('k')];
  const keyed = queue.run(async () => void order.push('keyed'), { signal, key: 'k' });
  await queue.run(async () => void order.push('other'), { signal });
  free[0]?.();
  await queue.run(async () => void order.push('another'), { signal });
  free[1]?.();
  await keyed;
  expect(order).toEqual(['other', 'another', 'keyed']);
  expect(inUse.isHeld('k')).toBe(false);
});
