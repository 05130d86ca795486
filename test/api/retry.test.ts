import { expect, test } from 'vitest';
import { formatRetry, joinClauses, nextRetry, pauseBeforeRetry, toFinalFailure } from '../../src/api/retry.ts';
import { AppError, type RetryAdvice } from '../../src/core/error.ts';
import { SAID_MS } from '../../src/core/io.ts';

test('no more retries are made than were asked for, and no more than the failure allows', () => {
  const options = { baseMs: 1000, random: () => 0, now: () => 0 };
  const count = (atMost: number, retry: RetryAdvice): number =>
    [0, 1, 2, 3, 4, 5].filter((done) => nextRetry(new AppError('api', 'x', { retry }), done, { ...options, atMost }))
      .length;
  expect([count(0, {}), count(5, {}), count(5, { atMost: 1 })]).toEqual([0, 5, 1]);
  expect(nextRetry(new AppError('api', 'x', { retry: {} }), 0, { ...options, atMost: 5 })).toMatchObject({ of: 5 });
});

function delayOf(retry: RetryAdvice | undefined, done: number, random: number, deadline?: number): number | undefined {
  const failure = new AppError('api', 'x', retry === undefined ? {} : { retry });
  const options = { baseMs: 1000, random: () => random, now: () => 0, deadline: () => deadline };
  return nextRetry(failure, done, options)?.delayMs;
}

test('pauses double and differ by 30 % either way', () => {
  expect([0, 1, 2, 3].map((done) => delayOf({}, done, 0))).toEqual([700, 1400, 2800, undefined]);
  expect([0, 1, 2, 3].map((done) => delayOf({}, done, 1))).toEqual([1300, 2600, 5200, undefined]);
});

test('the server is given the time it asks for, up to a minute', () => {
  expect(delayOf({ afterMs: 60_000 }, 0, 1)).toBe(60_000);
  expect(delayOf({ afterMs: 60_001 }, 0, 1)).toBeUndefined();
});

test('a pause that ends after the deadline is not begun', () => {
  expect(delayOf({ afterMs: 2000 }, 0, 0, 2001)).toBe(2000);
  expect(delayOf({ afterMs: 2000 }, 0, 0, 2000)).toBeUndefined();
});

test('a failure without advice, or with its attempts used up, is final', () => {
  expect(delayOf(undefined, 0, 0)).toBeUndefined();
  expect(delayOf({ atMost: 1 }, 0, 0)).toBe(700);
  expect(delayOf({ atMost: 1 }, 1, 0)).toBeUndefined();
});

const OPTIONS = { baseMs: 1000, random: () => 0.5, now: () => 0 };

test('a retry knows which it is, of how many', () => {
  const failure = new AppError('api', 'x', { retry: {} });
  expect(nextRetry(failure, 0, OPTIONS)).toEqual({ delayMs: 1000, number: 1, of: 3 });
  expect(nextRetry(new AppError('api', 'x', { retry: { atMost: 9 } }), 2, OPTIONS)).toMatchObject({ number: 3, of: 3 });
  expect(formatRetry({ delayMs: 2000, number: 1, of: 3 })).toBe('retry 1 of 3 in 2 s');
});

test('a failure whose wait does not fit into the time that is left says so, and stays what it was', () => {
  const cause = new Error('because');
  const failure = new AppError('api', 'x', {
    cause,
    shortMessage: 'w',
    status: 429,
    hint: 'h',
    retry: { afterMs: 5000 },
  });
  const late = { ...OPTIONS, deadline: () => 4000 };
  expect(toFinalFailure(failure, late)).toMatchObject({
    fault: 'api',
    message: 'x',
    cause,
    shortMessage: 'w',
    details: { status: 429 },
    hint: 'The server asks to wait 5 s, longer than --timeout leaves. Raise it with -t.',
  });
  const plain = new AppError('api', 'x', { retry: { afterMs: 5000 } });
  expect(toFinalFailure(plain, late).details).toEqual({});
  for (const same of [OPTIONS, { ...OPTIONS, deadline: () => 6000 }, { ...OPTIONS, deadline: () => undefined }]) {
    expect(toFinalFailure(failure, same)).toBe(failure);
  }
  for (const none of [new AppError('api', 'x'), new AppError('api', 'x', { retry: {} })]) {
    expect(toFinalFailure(none, { ...OPTIONS, deadline: () => 0 })).toBe(none);
  }
});

test('two clauses become one sentence, whether or not the first ended in a full stop', () => {
  expect(joinClauses('Slow down.', 'retry 1 of 2')).toBe('Slow down; retry 1 of 2');
  expect(joinClauses('no v1.5 here', 'retry 1 of 2')).toBe('no v1.5 here; retry 1 of 2');
});

test.for([
  [SAID_MS, false],
  [SAID_MS + 1, true],
] as const)(
  'before a retry %i ms are waited, which the trace says; the user is told: %s',
  async ([delayMs, isTold]) => {
    const { signal } = new AbortController();
    const happened: unknown[] = [];
    const clock = { now: () => 0, sleep: async (...given: unknown[]) => void happened.push(given) };
    const pause = (notify?: (message: string) => void) =>
      pauseBeforeRetry(
        new AppError('api', 'Slow down.'),
        { delayMs, number: 1, of: 3 },
        { clock, trace: (text) => happened.push(`trace: ${text}`), notify },
        signal,
      );
    const traced = 'trace: Slow down; retry 1 of 3 in 10 s';
    await pause((text) => happened.push(`notice: ${text}`));
    expect(happened.splice(0)).toEqual([
      traced,
      ...(isTold ? ['notice: Slow down; retry 1 of 3 in 10 s (Ctrl+C stops the wait)'] : []),
      [delayMs, signal],
    ]);
    await pause();
    expect(happened).toEqual([traced, [delayMs, signal]]);
  },
);
