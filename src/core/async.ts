type Share<Key, Value> = (key: Key, signal: AbortSignal) => Promise<Value>;

interface Running<Value> {
  readonly result: Promise<Value>;
  readonly controller: AbortController;
  waiting: number;
}

/** Callers share one run of `work` per key. One that aborts leaves the others alone; the last one aborts the work. */
export function shareWork<Key, Value>(work: (key: Key, signal: AbortSignal) => Promise<Value>): Share<Key, Value> {
  const all = new Map<Key, Running<Value>>();
  const start = (key: Key): Running<Value> => {
    const controller = new AbortController();
    const result = work(key, controller.signal).finally(() => all.delete(key));
    const running = { result, controller, waiting: 0 };
    all.set(key, running);
    return running;
  };
  return async (key, signal) => {
    signal.throwIfAborted();
    let running = all.get(key);
    while (running?.controller.signal.aborted) {
      await raceWithAbort(waitUntilSettled(running.result), signal);
      running = all.get(key);
    }
    running ??= start(key);
    running.waiting += 1;
    try {
      return await raceWithAbort(running.result, signal);
    } finally {
      running.waiting -= 1;
      if (signal.aborted && running.waiting === 0) {
        running.controller.abort(signal.reason);
        // The work may hold a lock, and the process may exit right after this returns.
        await waitUntilSettled(running.result);
      }
    }
  };
}

async function waitUntilSettled(result: Promise<unknown>): Promise<void> {
  await result.catch(() => {});
}

/** `work` itself keeps running. */
export function raceWithAbort<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

export function loadOnce<Loaded>(load: () => Promise<Loaded>): () => Promise<Loaded> {
  let loaded: Promise<Loaded> | undefined;
  return () => (loaded ??= load());
}

export function waitForAbort(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

export type Serial = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** A piece of work that fails does so for its caller only. */
export function createSerial(): Serial {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work);
    last = waitUntilSettled(result);
    return result;
  };
}

/** Runs at most so many pieces of work at once, the others in the order in which they came. */
export interface Limit {
  /** Resolves with the function that gives the place back. */
  acquire(place?: Place): Promise<() => void>;
  /**
   * Starts the work before it returns, if there is room. Throws `overloadError` at once if too many are waiting; rejects
   * with the signal's reason while waiting, and with what the work throws.
   */
  run<Result>(work: () => Promise<Result>, place?: Place): Promise<Result>;
}

interface Place {
  readonly signal?: AbortSignal;
  /** Locked while the work runs; work whose key is held takes no place from others. */
  readonly key?: string | undefined;
}

interface LimitOptions {
  readonly maxRunning: number;
  readonly maxQueued?: number;
  readonly locks?: Locks;
  readonly overloadError?: (running: number, waiting: number) => Error;
}

export function createLimit(options: LimitOptions): Limit {
  const { maxRunning, maxQueued = Number.POSITIVE_INFINITY, locks = createLocks() } = options;
  const { overloadError = () => new Error('too many are waiting') } = options;
  let running = 0;
  const queue = new Set<{ readonly key: string | undefined; start(release: () => void): void }>();
  const canStart = (key: string | undefined): boolean =>
    running < maxRunning && (key === undefined || !locks.isHeld(key));
  const occupy = (key: string | undefined): (() => void) => {
    running += 1;
    const unlock = key === undefined ? () => {} : locks.lock(key);
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      running -= 1;
      unlock();
      startWaiting();
    };
  };
  const startWaiting = (): void => {
    for (const waiting of queue) {
      if (!canStart(waiting.key)) continue;
      queue.delete(waiting);
      waiting.start(occupy(waiting.key));
    }
  };
  locks.onFree(startWaiting);

  function wait({ signal, key }: Place): Promise<() => void> {
    if (queue.size >= maxQueued) throw overloadError(running, queue.size);
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        queue.delete(waiting);
        reject(signal?.reason);
      };
      const waiting = {
        key,
        start(release: () => void) {
          signal?.removeEventListener('abort', giveUp);
          resolve(release);
        },
      };
      queue.add(waiting);
      signal?.addEventListener('abort', giveUp, { once: true });
    });
  }

  const take = (place: Place): Promise<() => void> | (() => void) => {
    place.signal?.throwIfAborted();
    return canStart(place.key) ? occupy(place.key) : wait(place);
  };
  return {
    acquire: async (place = {}) => take(place),
    run(work, place = {}) {
      const taken = take(place);
      return typeof taken === 'function'
        ? runAndRelease(taken, work)
        : taken.then((release) => runAndRelease(release, work));
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
