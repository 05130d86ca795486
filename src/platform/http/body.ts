import type { AppError } from '../../core/error.ts';
import { startTimer } from '../runtime/clock.ts';

const HIGH_WATER_BYTES = 192 * 1024;

interface BodySource {
  pause(): void;
  resume(): void;
  destroy(): void;
}

interface IdleLimit {
  /** Called for every wait, because the limit may change. */
  ms(): number;
  expire(): AppError;
}

/** Calls `action` after `ms` unless the returned function is called first; `0` is never. */
export function startTimeLimit(ms: number, action: () => void): () => void {
  return ms > 0 ? startTimer(ms, action) : () => {};
}

/** Loses nothing when the connection is cut, as a stream would. It is idle only while its reader waits. */
export function bodyFeed(source: BodySource, idle?: IdleLimit) {
  let chunks: Uint8Array[] = [];
  let size = 0;
  let outcome: { readonly error?: unknown } | undefined;
  let reader: { readonly wake: () => void; readonly stopTimer: (() => void) | undefined } | undefined;

  function settle(result: { readonly error?: unknown }): void {
    outcome ??= result;
    wakeReader();
  }

  function stop(result: { readonly error?: unknown }): void {
    const isOver = outcome !== undefined;
    settle(result);
    // A source that has ended closes by itself.
    if (!isOver) source.destroy();
  }

  function take(): Uint8Array {
    const taken = chunks;
    const isFull = size >= HIGH_WATER_BYTES;
    chunks = [];
    size = 0;
    if (isFull) source.resume();
    const [first] = taken;
    return taken.length === 1 && first ? first : Buffer.concat(taken);
  }

  async function next(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (size === 0 && outcome === undefined) await waitForChunk();
    if (size > 0) return { done: false, value: take() };
    if (outcome && 'error' in outcome) throw outcome.error;
    return { done: true, value: undefined };
  }

  function waitForChunk(): Promise<void> {
    return new Promise((wake) => {
      reader = { wake, stopTimer: idle && startTimeLimit(idle.ms(), () => stop({ error: idle.expire() })) };
    });
  }

  function wakeReader(): void {
    if (reader === undefined) return;
    reader.stopTimer?.();
    reader.wake();
    reader = undefined;
  }

  async function leaveEarly(): Promise<IteratorResult<Uint8Array, undefined>> {
    stop({});
    return { done: true, value: undefined };
  }

  return {
    body: { [Symbol.asyncIterator]: () => ({ next, return: leaveEarly }) },
    push(chunk: Uint8Array) {
      if (outcome !== undefined || chunk.length === 0) return;
      chunks.push(chunk);
      size += chunk.length;
      if (size >= HIGH_WATER_BYTES) source.pause();
      wakeReader();
    },
    end: () => settle({}),
    /** After what has already arrived; only the first `fail` or `end` counts. */
    fail: (error: unknown) => settle({ error }),
    /** Like `fail`, but drops what has not been read yet. */
    abort(reason: unknown) {
      chunks = [];
      size = 0;
      stop({ error: reason });
    },
  };
}
