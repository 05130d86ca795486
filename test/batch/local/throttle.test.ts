import { expect, test } from 'vitest';
import { createThrottle, type Permit, type ThrottleOptions } from '../../../src/batch/local/throttle.ts';
import { AppError, type QuotaFault } from '../../../src/core/error.ts';
import type { Clock } from '../../../src/core/io.ts';
import { createAbortable } from '../../../src/platform/runtime/abort.ts';

/** A clock whose time passes only when everybody waits for it. */
function virtualClock() {
  let now = 1_700_000_000_000;
  const timers: { readonly at: number; readonly ring: () => void }[] = [];
  const clock: Clock = {
    now: () => now,
    sleep: (ms) =>
      new Promise((resolve) => {
        timers.push({ at: now + Math.max(0, ms), ring: resolve });
      }),
  };
  return {
    clock,
    /** Lets everything happen that is due by `end`. */
    async runUntil(end: number): Promise<void> {
      for (;;) {
        // Promises that wait for nothing but each other.
        for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
        const next = timers.reduce((first, timer) => (timer.at < first.at ? timer : first), {
          at: Infinity,
          ring() {},
        });
        if (next.at > end) break;
        timers.splice(timers.indexOf(next), 1);
        now = Math.max(now, next.at);
        next.ring();
      }
      now = end;
    },
  };
}

interface Service {
  /** Requests and tokens of a minute. */
  readonly rpm?: number;
  readonly tpm?: number;
  readonly latencyMs: number;
  readonly tokens: number;
  /** Whether a minute is one of the clock, or the last 60 seconds. */
  readonly window: 'fixed' | 'sliding';
  /** Whether refusals name the quota. */
  readonly isNamed?: boolean;
}

const MINUTE = 60_000;

/** Runs for ten minutes, and counts what was answered and refused in each. */
async function simulate(service: Service, options: Partial<ThrottleOptions> = {}) {
  const { clock, runUntil } = virtualClock();
  const begunAt = clock.now();
  let seed = 1;
  const random = (): number => {
    seed = (seed * 48271) % 2147483647;
    return seed / 2147483647;
  };
  const throttle = createThrottle({ clock, random, maxConcurrency: 100, baseMs: 1000, ...options });
  const { signal } = createAbortable();
  const sent: { readonly at: number; readonly tokens: number }[] = [];
  const minutes = Array.from({ length: 10 }, () => ({ answered: 0, refused: 0, tokens: 0 }));
  const refuse = (quota: QuotaFault, afterMs: number): AppError<'api'> =>
    new AppError('api', 'quota', { status: 429, quota, retry: { afterMs } });
  const findRefusal = (tokens: number): AppError<'api'> | undefined => {
    const now = clock.now();
    const from = service.window === 'fixed' ? now - (now % MINUTE) : now - MINUTE;
    const recent = sent.filter(({ at }) => at >= from);
    const afterMs = service.window === 'fixed' ? from + MINUTE - now : (recent[0]?.at ?? now) + MINUTE - now;
    const named = (limit: number): object => (service.isNamed === false ? {} : { limit });
    if (service.rpm !== undefined && recent.length >= service.rpm)
      return refuse({ per: 'minute', ...named(service.rpm) }, afterMs);
    const used = recent.reduce((sum, entry) => sum + entry.tokens, 0);
    if (service.tpm !== undefined && used + tokens > service.tpm)
      return refuse({ per: 'minute', of: 'tokens', ...named(service.tpm) }, afterMs);
    return undefined;
  };
  const work = async (): Promise<void> => {
    for (;;) {
      const tokens = Math.ceil(service.tokens * (0.5 + random()));
      const permit = await throttle.acquire(service.tokens, signal);
      const minute = minutes[Math.floor((clock.now() - begunAt) / MINUTE)];
      const refusal = findRefusal(tokens);
      if (minute === undefined) return;
      if (refusal !== undefined) {
        minute.refused += 1;
        permit.refuse(refusal);
        continue;
      }
      minute.answered += 1;
      minute.tokens += tokens;
      sent.push({ at: clock.now(), tokens });
      if (sent.length > 20_000) sent.splice(0, 10_000);
      await clock.sleep(service.latencyMs * (0.5 + random()), signal);
      permit.succeed(tokens);
    }
  };
  for (let worker = 0; worker < 100; worker += 1) void work();
  await runUntil(begunAt + 10 * MINUTE - 1);
  const later = minutes.slice(1);
  const sum = (key: 'answered' | 'refused' | 'tokens'): number => later.reduce((all, minute) => all + minute[key], 0);
  return {
    minutes,
    perMinute: sum('answered') / later.length,
    tokensPerMinute: sum('tokens') / later.length,
    refused: sum('refused') / (sum('answered') + sum('refused')),
  };
}

test.for([
  { rpm: 600, latencyMs: 2000, tokens: 100, window: 'fixed' },
  { rpm: 600, latencyMs: 2000, tokens: 100, window: 'sliding' },
  { rpm: 15, latencyMs: 800, tokens: 100, window: 'sliding' },
  { rpm: 1000, latencyMs: 300, tokens: 50, window: 'sliding', isNamed: false },
] as const)('a quota of requests is used to 90 %, with 2 % refused after the first minute: %o', async (service) => {
  const { perMinute, refused } = await simulate(service);
  expect(perMinute).toBeGreaterThan(0.9 * service.rpm);
  expect(refused).toBeLessThan(0.02);
});

test('a quota of tokens is used to 90 %, though their number is only guessed before', async () => {
  const service = { tpm: 250_000, latencyMs: 1500, tokens: 1000, window: 'sliding' } as const;
  const { tokensPerMinute, refused } = await simulate(service);
  expect(tokensPerMinute).toBeGreaterThan(0.9 * service.tpm);
  expect(refused).toBeLessThan(0.02);
});

test('--rpm is never passed, and nothing is refused', async () => {
  const { minutes, perMinute } = await simulate(
    { rpm: 300, latencyMs: 500, tokens: 1, window: 'sliding' },
    { rpm: 290 },
  );
  expect(Math.max(...minutes.map(({ answered }) => answered))).toBeLessThanOrEqual(300);
  expect(perMinute).toBeGreaterThan(0.95 * 290);
  expect(minutes.map(({ refused }) => refused)).toEqual(new Array(10).fill(0));
});

test('the limit begins at four, doubles with every round, and a 503 takes 30 % of it', async () => {
  const { clock } = virtualClock();
  const throttle = createThrottle({ clock, random: () => 0.5, maxConcurrency: 64, baseMs: 10 });
  const { signal } = createAbortable();
  const limits: number[] = [];
  for (let round = 0; round < 6; round += 1) {
    limits.push(throttle.limit);
    const permits = await Promise.all(Array.from({ length: throttle.limit }, () => throttle.acquire(1, signal)));
    const next = permits.map(() => throttle.acquire(1, signal));
    for (const permit of permits) permit.succeed(1);
    for (const permit of await Promise.all(next)) permit.fail();
  }
  expect(limits).toEqual([4, 8, 16, 32, 64, 64]);
  const before = throttle.limit;
  (await throttle.acquire(1, signal)).refuse(new AppError('api', 'busy', { status: 503, retry: {} }));
  expect(throttle.limit).toBe(Math.floor(before * 0.7));
  expect(throttle.pausedUntil).toBeGreaterThan(clock.now());
});

test('who waits leaves when the run ends', async () => {
  const { clock } = virtualClock();
  const throttle = createThrottle({ clock, random: () => 0.5, maxConcurrency: 1, baseMs: 10 });
  const ended = new AbortController();
  await throttle.acquire(1, ended.signal);
  const waiting = throttle.acquire(1, ended.signal);
  ended.abort(new Error('over'));
  await expect(waiting).rejects.toThrow('over');
});

test.for([
  ['a count', (permit: Permit) => permit.succeed(1e15)],
  ['a quota', (permit: Permit) => permit.refuse(refusal({ per: 'minute', of: 'tokens', limit: 1e-9 }))],
  ['a wait', (permit: Permit) => permit.refuse(refusal({ per: 'minute', waitMs: 86_400_000 }))],
] as const)('%s that no server can mean does not stop the other requests for long', async ([, end]) => {
  const { clock, runUntil } = virtualClock();
  const begunAt = clock.now();
  const waits: string[] = [];
  const onWait: ThrottleOptions['onWait'] = (ms, why) => waits.push(`${why} ${ms > 10_000}`);
  const throttle = createThrottle({ clock, random: () => 0.5, maxConcurrency: 8, baseMs: 10, tpm: 250_000, onWait });
  const { signal } = createAbortable();
  end(await throttle.acquire(10, signal));
  let answered = 0;
  const work = async (): Promise<void> => {
    const permit = await throttle.acquire(10, signal);
    permit.succeed(10);
    answered += 1;
  };
  for (let row = 0; row < 3; row += 1) void work();
  await runUntil(begunAt + 15 * MINUTE);
  expect(answered).toBe(3);
  expect(waits[0]).toMatch(/^(?:asked|paced) true$/);
});

test('a wait is said once, however many requests wait for it, and a short one is not', async () => {
  const { clock, runUntil } = virtualClock();
  const begunAt = clock.now();
  const waits: [number, string][] = [];
  const onWait: ThrottleOptions['onWait'] = (...wait) => waits.push(wait);
  const throttle = createThrottle({ clock, random: () => 0.5, maxConcurrency: 8, baseMs: 10, onWait });
  const { signal } = createAbortable();
  const refuse = async (count: number, afterMs: number): Promise<void> => {
    const permits = await Promise.all(Array.from({ length: count }, () => throttle.acquire(1, signal)));
    for (const permit of permits) permit.refuse(new AppError('api', 'busy', { status: 503, retry: { afterMs } }));
  };
  await refuse(2, 9000);
  const later = refuse(1, 30_000);
  await runUntil(begunAt + 10_000);
  await later;
  void throttle.acquire(1, signal);
  void throttle.acquire(1, signal);
  await runUntil(begunAt + 3 * MINUTE);
  expect(waits).toEqual([[expect.any(Number), 'asked']]);
});

function refusal(quota: QuotaFault): AppError<'api'> {
  return new AppError('api', 'quota', { status: 429, quota });
}
