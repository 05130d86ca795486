import type { AppError } from '../../core/error.ts';
import { type Clock, SAID_MS } from '../../core/io.ts';
import { onAbort } from '../../platform/runtime/abort.ts';
import { createPacer } from './pacer.ts';

export interface ThrottleOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly maxConcurrency: number;
  /** Requests and tokens per minute, as the user knows them; the server's refusals teach the rest. */
  readonly rpm?: number;
  readonly tpm?: number;
  /** The first pause after a refusal that names none; it doubles with each further one. */
  readonly baseMs: number;
  /** Called before a wait worth saying: `asked` for by the server, or `paced` to keep a quota. */
  readonly onWait?: (ms: number, why: 'asked' | 'paced') => void;
}

/** Permission to send one request. Exactly one of these must be called, once. */
export interface Permit {
  /** `tokens`: how many the server counted for the prompt. */
  succeed(tokens: number | undefined): void;
  /** The server has refused it for lack of capacity: all requests slow down. */
  refuse(error: AppError<'api'>): void;
  /** For a failure that says nothing about the server's capacity. */
  fail(): void;
}

/** Shared by all requests of a run: what one of them learns of the server's limits holds for all. */
export interface Throttle {
  /** Resolves when the request may be sent. `tokens`: an estimate for its prompt. Rejects with the signal's reason. */
  acquire(tokens: number, signal: AbortSignal): Promise<Permit>;
  readonly limit: number;
  /** Until when nothing is sent, in milliseconds since the epoch. */
  readonly pausedUntil: number;
}

const FIRST_LIMIT = 4;
/** A refusal multiplies the limit by this. */
const BACK_OFF = 0.7;
const MAX_PAUSE_MS = 60_000;
/** The longest wait that a server may ask for: a run that would sleep longer is better ended, and continued later. */
export const MAX_WAIT_MS = 600_000;
/** What was sent in a burst leaves the server's window in a burst: so long after the time it names there is room for all. */
const DRAIN_MS = 3000;

interface Waiting {
  readonly tokens: number;
  readonly start: (permit: Permit) => void;
}

/** The concurrency limit: grows by one with every answer; after a refusal, which takes 30 %, by one per round of answers. */
function createMovingLimit(most: number) {
  let limit = Math.min(FIRST_LIMIT, most);
  /** Up to here the limit doubles in a round; beyond, it grows by one. */
  let slowStartEnd = most;
  return {
    get: (): number => Math.max(1, Math.floor(limit)),
    grow(): void {
      limit = Math.min(most, limit + (limit < slowStartEnd ? 1 : 1 / limit));
    },
    shrink(): void {
      slowStartEnd = Math.max(1, Math.floor(limit * BACK_OFF));
      limit = slowStartEnd;
    },
  };
}

/** Starts at four, and follows answers and refusals; a quota is learned from the refusal that names it, and kept by spacing. */
export function createThrottle(options: ThrottleOptions): Throttle {
  const { clock, random, maxConcurrency, rpm, tpm, baseMs, onWait = () => {} } = options;
  const requests = createPacer(clock, rpm);
  const tokenPacer = createPacer(clock, tpm);
  const limit = createMovingLimit(maxConcurrency);
  let inFlight = 0;
  let pausedUntil = 0;
  let refusalsInARow = 0;
  /** Refusals of requests that were sent before this say nothing about the new speed. */
  let slowedAt = Number.NEGATIVE_INFINITY;
  const queue: Waiting[] = [];

  const slowDown = ({ retry, details: { quota, status } }: AppError<'api'>, sentAt: number): void => {
    const now = clock.now();
    const pacer = quota?.of === 'tokens' ? tokenPacer : requests;
    if (sentAt >= slowedAt) {
      refusalsInARow += 1;
      slowedAt = now;
      // The pacer keeps a quota; fewer requests at once would not help.
      if (!(quota?.per === 'minute' && pacer.learn(quota.limit))) limit.shrink();
    }
    const named = quota?.waitMs ?? retry?.afterMs;
    const backOffMs = Math.min(MAX_PAUSE_MS, baseMs * 2 ** Math.min(refusalsInARow - 1, 10) * (0.7 + 0.6 * random()));
    // A 503 of one request need not stop all others; a quota does.
    const waitMs = Math.min(MAX_WAIT_MS, named ?? (status === 503 ? backOffMs / 2 : backOffMs));
    pausedUntil = Math.max(pausedUntil, now + waitMs + (quota?.per === 'minute' ? DRAIN_MS : 0));
  };

  const createPermit = (expected: number, sentAt: number): Permit => {
    const leave = (): void => {
      inFlight -= 1;
      pump();
    };
    return {
      succeed(tokens) {
        refusalsInARow = 0;
        if (tokens !== undefined) tokenPacer.correct(tokens - expected);
        requests.recover();
        tokenPacer.recover();
        // A limit that is hardly used need not grow.
        if (2 * inFlight >= limit.get()) limit.grow();
        leave();
      },
      refuse(error) {
        // A refused request uses no tokens of the quota.
        tokenPacer.correct(-expected);
        slowDown(error, sentAt);
        leave();
      },
      fail: leave,
    };
  };

  const wake = createAlarm(clock, () => pump());

  const pump = (): void => {
    for (let next = queue[0]; next !== undefined && inFlight < limit.get(); next = queue[0]) {
      const now = clock.now();
      const waitMs = Math.max(pausedUntil - now, requests.waitMs(), tokenPacer.waitMs());
      if (waitMs > 0) {
        if (wake(waitMs) && waitMs > SAID_MS) onWait(waitMs, pausedUntil - now >= waitMs ? 'asked' : 'paced');
        return;
      }
      queue.shift();
      inFlight += 1;
      requests.take(1);
      tokenPacer.take(next.tokens);
      next.start(createPermit(next.tokens, now));
    }
  };

  return {
    acquire(tokens, signal) {
      return new Promise((resolve, reject) => {
        signal.throwIfAborted();
        let unfollow = (): void => {};
        const waiting: Waiting = {
          tokens,
          start(permit) {
            unfollow();
            resolve(permit);
          },
        };
        queue.push(waiting);
        pump();
        if (!queue.includes(waiting)) return;
        unfollow = onAbort(signal, () => {
          queue.splice(queue.indexOf(waiting), 1);
          reject(signal.reason);
        });
      });
    },
    get limit() {
      return limit.get();
    },
    get pausedUntil() {
      return pausedUntil;
    },
  };
}

/** Calls `action` after the given time, unless a call is already due: then it returns false. */
function createAlarm(clock: Clock, action: () => void): (ms: number) => boolean {
  const never = new AbortController().signal;
  let isSet = false;
  return (ms) => {
    if (isSet) return false;
    isSet = true;
    void clock.sleep(ms, never).then(() => {
      isSet = false;
      action();
    });
    return true;
  };
}
