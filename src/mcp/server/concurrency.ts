import type { AppError } from '../../core/error.ts';

export interface WorkQueue {
  /**
   * Locks `key` while the work runs. Throws `overloaded` at once if the queue is full; rejects with the signal's reason
   * while waiting, and with what the work throws.
   */
  run<Result>(signal: AbortSignal, work: () => Promise<Result>, key?: string): Promise<Result>;
}

interface QueueOptions {
  readonly maxRunning: number;
  readonly maxQueued: number;
  readonly locks: Locks;
  readonly overloadError: (running: number, waiting: number) => AppError;
}

interface QueuedWork {
  readonly key: string | undefined;
  readonly start: (release: () => void) => void;
}

export function createQueue({ maxRunning, maxQueued, locks, overloadError }: QueueOptions): WorkQueue {
  let running = 0;
  const queue = new Set<QueuedWork>();
  const canStart = (key: string | undefined): boolean =>
    running < maxRunning && (key === undefined || !locks.isHeld(key));
  const acquire = (key: string | undefined): (() => void) => {
    running += 1;
    const unlock = key === undefined ? () => {} : locks.lock(key);
    return () => {
      running -= 1;
      unlock();
      startWaiting();
    };
  };
  const startWaiting = (): void => {
    for (const waiting of queue) {
      if (!canStart(waiting.key)) continue;
      queue.delete(waiting);
      waiting.start(acquire(waiting.key));
    }
  };
  locks.onFree(startWaiting);

  function wait(signal: AbortSignal, key: string | undefined): Promise<() => void> {
    if (queue.size >= maxQueued) throw overloadError(running, queue.size);
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        queue.delete(waiting);
        reject(signal.reason);
      };
      const waiting: QueuedWork = {
        key,
        start(release) {
          signal.removeEventListener('abort', giveUp);
          resolve(release);
        },
      };
      queue.add(waiting);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  return {
    run(signal, work, key) {
      signal.throwIfAborted();
      return canStart(key)
        ? runAndRelease(acquire(key), work)
        : wait(signal, key).then((release) => runAndRelease(release, work));
    },
  };
}

async function runAndRelease<Result>(release: () => void, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } finally {
    release();
  }
}

/** A session or a conversation runs one turn at a time. */
export interface Locks {
  isHeld(key: string): boolean;
  /** Several callers may hold one key; it is free when all have called the function they got. */
  lock(key: string): () => void;
  onFree(listener: () => void): void;
}

export function createLocks(): Locks {
  const counts = new Map<string, number>();
  const listeners: (() => void)[] = [];
  const release = (key: string): void => {
    const left = (counts.get(key) ?? 1) - 1;
    if (left > 0) counts.set(key, left);
    else {
      counts.delete(key);
      for (const listener of listeners) listener();
    }
  };
  return {
    isHeld: (key) => counts.has(key),
    lock(key) {
      counts.set(key, (counts.get(key) ?? 0) + 1);
      return () => release(key);
    },
    onFree: (listener) => void listeners.push(listener),
  };
}
