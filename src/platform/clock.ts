import { setMaxListeners } from 'node:events';
import type { Clock } from '../core/io.ts';
import { abortable, onAbort } from './abort.ts';

/** A longer timer would fire at once. */
const LONGEST_MS = 2 ** 31 - 1;

/** The real time. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const stop = (): void => {
        clearTimeout(timer);
        reject(signal.reason);
      };
      const timer = setTimeout(
        () => {
          signal.removeEventListener('abort', stop);
          resolve();
        },
        Math.min(ms, LONGEST_MS),
      );
      signal.addEventListener('abort', stop, { once: true });
    }),
};

/** Calls `action` every `ms` until the returned function is called. Progress alone does not keep the process alive. */
export function every(ms: number, action: () => void): () => void {
  const timer = setInterval(action, ms).unref();
  return () => clearInterval(timer);
}

export interface Deadline {
  readonly signal: AbortSignal;
  /** Stops the time, for as long as a person is asked for something. */
  hold(): void;
  /** Lets it run on from where it was held. */
  resume(): void;
  /** When it will abort, in milliseconds since the epoch; undefined if it never will, or while it is held. */
  endsAt(): number | undefined;
  /** Lets go of the timer, so that the process can end. */
  clear(): void;
}

/** A signal that follows `parent` and aborts with `reason()` after `ms` (0 = never). */
export function deadline(parent: AbortSignal, ms: number, reason: () => Error): Deadline {
  if (ms === 0) return { signal: parent, hold: () => {}, resume: () => {}, endsAt: () => undefined, clear: () => {} };
  const controller = abortable();
  // Twenty servers may hang on one signal, which is no leak.
  setMaxListeners(0, parent, controller.signal);
  let timer: NodeJS.Timeout | undefined;
  let startedMs = 0;
  let leftMs = Math.min(ms, LONGEST_MS);
  let isHeld = false;
  const follow = (): void => controller.abort(parent.reason);
  const resume = (): void => {
    startedMs = Date.now();
    isHeld = false;
    timer = setTimeout(() => controller.abort(reason()), leftMs);
  };
  const hold = (): void => {
    clearTimeout(timer);
    isHeld = true;
    leftMs -= Date.now() - startedMs;
  };
  if (parent.aborted) follow();
  const unfollow = onAbort(parent, follow);
  resume();
  return {
    signal: controller.signal,
    hold,
    resume,
    endsAt: () => (isHeld ? undefined : startedMs + leftMs),
    clear: () => {
      clearTimeout(timer);
      unfollow();
    },
  };
}

/** Resolves when all that can be done at once is done, and what was sent meanwhile is on its way: for what can wait that long. */
export function afterUrgent(): Promise<void> {
  // A connection that stands at once carries its request in the turn after this one.
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}

/** Calls `action` once, after `ms`, unless the returned function is called first. Waiting for it keeps no process alive. */
export function after(ms: number, action: () => void): () => void {
  const timer = setTimeout(action, Math.min(ms, LONGEST_MS)).unref();
  return () => clearTimeout(timer);
}
