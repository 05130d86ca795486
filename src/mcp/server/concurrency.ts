import type { AppError } from '../../core/error.ts';

export interface WorkQueue {
  /**
   * Locks `key` while the work runs. Throws `overloaded` at once if the queue is full; rejects with the signal's reason
   * while waiting, and with what the work throws.
   */
  pass<Result>(signal: AbortSignal, work: () => Promise<Result>, key?: string): Promise<Result>;
}

interface QueueOptions {
  readonly maxRunning: number;
  readonly maxQueued: number;
  readonly locks: Locks;
  readonly overloadError: (inside: number, waiting: number) => AppError;
}

interface QueuedWork {
  readonly key: string | undefined;
  readonly come: (leave: () => void) => void;
}

export function createQueue({ maxRunning, maxQueued, locks, overloadError }: QueueOptions): WorkQueue {
  let inside = 0;
  const line = new Set<QueuedWork>();
  const isOpen = (key: string | undefined): boolean => inside < maxRunning && (key === undefined || !locks.isHeld(key));
  const enter = (key: string | undefined): (() => void) => {
    inside += 1;
    const free = key === undefined ? () => {} : locks.lock(key);
    return () => {
      inside -= 1;
      free();
      admit();
    };
  };
  const admit = (): void => {
    for (const waiting of line) {
      if (!isOpen(waiting.key)) continue;
      line.delete(waiting);
      waiting.come(enter(waiting.key));
    }
  };
  locks.onFree(admit);

  function wait(signal: AbortSignal, key: string | undefined): Promise<() => void> {
    if (line.size >= maxQueued) throw overloadError(inside, line.size);
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        line.delete(waiting);
        reject(signal.reason);
      };
      const waiting: QueuedWork = {
        key,
        come(leave) {
          signal.removeEventListener('abort', giveUp);
          resolve(leave);
        },
      };
      line.add(waiting);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  return {
    pass(signal, work, key) {
      signal.throwIfAborted();
      return isOpen(key) ? runAndLeave(enter(key), work) : wait(signal, key).then((leave) => runAndLeave(leave, work));
    },
  };
}

async function runAndLeave<Result>(leave: () => void, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } finally {
    leave();
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
