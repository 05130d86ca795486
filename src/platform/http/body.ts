import type { AppError } from '../../core/error.ts';
import type { HttpBody } from '../../core/io.ts';
import { startTimer } from '../runtime/clock.ts';

/** How much may wait for the reader: several reads of the socket, so that a fast response takes fewer steps. */
const HIGH_WATER_BYTES = 192 * 1024;

interface BodySource {
  pause(): void;
  resume(): void;
  destroy(): void;
}

interface BodyFeed {
  readonly body: HttpBody;
  push(chunk: Uint8Array): void;
  end(): void;
  /** Ends the body with an error, after what has already arrived; only the first `fail` or `end` counts. */
  fail(error: unknown): void;
  /** Like `fail`, but drops what has not been read yet. */
  abort(reason: unknown): void;
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

/**
 * A body that loses nothing when the connection is cut (a stream would drop its buffer), buffers about 192 KB, and counts as
 * idle only while its reader waits. The reader is woken after all data of this turn of the event loop has arrived.
 */
export function bodyFeed(source: BodySource, idle?: IdleLimit): BodyFeed {
  const queue = chunkQueue();
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

  function takeArrived(): Uint8Array | undefined {
    if (queue.size() === 0) return undefined;
    const isFull = queue.size() >= HIGH_WATER_BYTES;
    const chunk = queue.take();
    if (isFull && queue.size() < HIGH_WATER_BYTES) source.resume();
    return chunk;
  }

  async function next(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (queue.size() === 0 && outcome === undefined) await waitForChunk();
    const value = takeArrived();
    if (value !== undefined) return { done: false, value };
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
    setImmediate(reader.wake);
    reader = undefined;
  }

  async function leaveEarly(): Promise<IteratorResult<Uint8Array, undefined>> {
    stop({});
    return { done: true, value: undefined };
  }

  return {
    body: { [Symbol.asyncIterator]: () => ({ next, return: leaveEarly }), takeArrived },
    push(chunk) {
      if (outcome !== undefined || chunk.length === 0) return;
      if (queue.add(chunk) >= HIGH_WATER_BYTES) source.pause();
      wakeReader();
    },
    end: () => settle({}),
    fail: (error) => settle({ error }),
    abort(reason) {
      queue.clear();
      stop({ error: reason });
    },
  };
}

interface ChunkQueue {
  size(): number;
  add(chunk: Uint8Array): number;
  /** The next bytes: one chunk, or many small ones joined, which saves the reader many steps. */
  take(): Uint8Array;
  clear(): void;
}

const SMALL_CHUNK_BYTES = 4096;
/** Chunks are joined only if at least this many are waiting. */
const MANY_CHUNKS = 8;

function chunkQueue(): ChunkQueue {
  let chunks: Uint8Array[] = [];
  let size = 0;
  return {
    size: () => size,
    add(chunk) {
      chunks.push(chunk);
      size += chunk.length;
      return size;
    },
    take() {
      const wantedBytes = chunks.length < MANY_CHUNKS ? 0 : SMALL_CHUNK_BYTES;
      let count = 0;
      let bytes = 0;
      do {
        bytes += chunks[count]?.length ?? 0;
        count += 1;
      } while (count < chunks.length && bytes < wantedBytes);
      const taken = chunks.splice(0, count);
      size -= bytes;
      const [first] = taken;
      return count === 1 && first ? first : Buffer.concat(taken, bytes);
    },
    clear() {
      chunks = [];
      size = 0;
    },
  };
}
