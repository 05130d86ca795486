import { expect, test } from 'vitest';
import { deadline } from '../../src/platform/clock.ts';

const NEVER = new AbortController().signal;
const LONG_MS = 3_600_000;

test('a deadline says when it ends, and not while it is held', () => {
  const before = Date.now();
  const limit = deadline(NEVER, LONG_MS, () => new Error('late'));
  const first = limit.endsAt() ?? 0;
  expect(first).toBeGreaterThanOrEqual(before + LONG_MS);
  expect(first).toBeLessThanOrEqual(Date.now() + LONG_MS);
  limit.hold();
  expect(limit.endsAt()).toBeUndefined();
  limit.resume();
  expect(limit.endsAt()).toBeGreaterThanOrEqual(first);
  limit.clear();
});

test('without a limit there is no end', () => {
  const limit = deadline(NEVER, 0, () => new Error('late'));
  expect([limit.endsAt(), limit.signal]).toEqual([undefined, NEVER]);
});

test('it aborts with the given reason when its time is over', async () => {
  const reason = new Error('late');
  const { signal } = deadline(NEVER, 1, () => reason);
  await new Promise((resolve) => signal.addEventListener('abort', resolve));
  expect(signal.reason).toBe(reason);
});
