import { setMaxListeners } from 'node:events';
import type { Clock } from '../../core/io.ts';
import { createAbortable, onAbort } from './abort.ts';

/** A longer timer would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;
/** A timer this late means that the process was stopped or busy. */
const LATE_MS = 20;
/** After a late timer, I/O gets as much time as it was late, within these bounds: some of it needs one more request. */
const CATCH_UP_MS = { least: 100, most: 1000 };

/**
 * Calls `action` once after `ms`, unless the returned function is called first. I/O that has arrived by then is handled
 * first: after a stop (Ctrl+Z, a laptop's sleep) Node would run the overdue timers before it reads. `isIdle`: does not
 * keep the process alive.
 */
export function startTimer(ms: number, action: () => void, { isIdle = false } = {}): () => void {
  let timer: NodeJS.Timeout | undefined;
  let turn: NodeJS.Immediate | undefined;
  const wait = (forMs: number, over: () => void): void => {
    timer = setTimeout(over, forMs);
    if (isIdle) timer.unref();
  };
  // One turn of the event loop reads everything that has arrived.
  const runAction = (): void => {
    turn = setImmediate(action);
  };
  const wantedMs = Math.min(ms, MAX_TIMER_MS);
  const dueAt = steadyMs() + wantedMs;
  wait(wantedMs, () => {
    const lateMs = steadyMs() - dueAt;
    // Only once, or a process that is always busy would never time out.
    if (lateMs > LATE_MS) wait(Math.min(Math.max(lateMs, CATCH_UP_MS.least), CATCH_UP_MS.most), runAction);
    else runAction();
  });
  return () => {
    clearTimeout(timer);
    clearImmediate(turn);
  };
}

/** A monotonic clock, without loading `performance`. */
function steadyMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const stop = (): void => {
        stopTimer();
        reject(signal.reason);
      };
      const stopTimer = startTimer(ms, () => {
        signal.removeEventListener('abort', stop);
        resolve();
      });
      signal.addEventListener('abort', stop, { once: true });
    }),
};

/** Does not keep the process alive. */
export function callEvery(ms: number, action: () => void): () => void {
  const timer = setInterval(action, ms).unref();
  return () => clearInterval(timer);
}

export interface Deadline {
  readonly signal: AbortSignal;
  /** Stops the time until the returned function is called, for as long as a person is asked something. Pauses nest. */
  pause(): () => void;
  /** With the whole time again, or with another one. */
  restart(ms?: number): void;
  /** When it will abort, in milliseconds since the epoch; undefined if never, or while paused. */
  endsAt(): number | undefined;
  clear(): void;
}

/** A signal that follows `parent` and aborts with `reason(ms)` after `ms` (0 = never). */
export function createDeadline(parent: AbortSignal, ms: number, reason: (ms: number) => Error): Deadline {
  if (ms === 0) {
    return { signal: parent, pause: () => () => {}, restart: () => {}, endsAt: () => undefined, clear: () => {} };
  }
  const controller = createAbortable();
  // Twenty MCP servers may listen on one signal; that is not a leak.
  setMaxListeners(0, parent);
  let stopTimer = (): void => {};
  let startedMs = 0;
  let wholeMs = ms;
  let leftMs = Math.min(ms, MAX_TIMER_MS);
  let pauses = 0;
  let isCleared = false;
  const follow = (): void => controller.abort(parent.reason);
  const run = (): void => {
    if (pauses > 0 || isCleared) return;
    startedMs = Date.now();
    stopTimer = startTimer(leftMs, () => controller.abort(reason(wholeMs)));
  };
  if (parent.aborted) follow();
  const unfollow = onAbort(parent, follow);
  run();
  return {
    signal: controller.signal,
    pause() {
      pauses += 1;
      if (pauses === 1) {
        stopTimer();
        leftMs = Math.max(leftMs - (Date.now() - startedMs), 0);
      }
      let isOver = false;
      return () => {
        if (isOver) return;
        isOver = true;
        pauses -= 1;
        run();
      };
    },
    restart(forMs = wholeMs) {
      stopTimer();
      wholeMs = forMs;
      leftMs = Math.min(wholeMs, MAX_TIMER_MS);
      run();
    },
    endsAt: () => (pauses > 0 ? undefined : startedMs + leftMs),
    clear() {
      isCleared = true;
      stopTimer();
      unfollow();
    },
  };
}

/** Lets signals, keys and timers have their turn between two slices of long work. Throws the signal's reason. */
export async function yieldToEvents(signal: AbortSignal): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  signal.throwIfAborted();
}

/** Resolves in the next turn of the event loop: after everything that is to happen in this one. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Resolves after pending work and I/O had their turn; for work that can wait that long. */
export function yieldToIo(): Promise<void> {
  // Two turns: a connection that opens at once sends its request in the second.
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}

/** Calls `action` once after `ms`, unless the returned function is called first. Does not keep the process alive. */
export function callAfter(ms: number, action: () => void): () => void {
  return startTimer(ms, action, { isIdle: true });
}
