type Share<Key, Value> = (key: Key, signal: AbortSignal) => Promise<Value>;

interface Running<Value> {
  readonly result: Promise<Value>;
  readonly controller: AbortController;
  waiting: number;
}

/**
 * Lets several callers share one run of `work` per key. A caller whose signal aborts stops waiting and leaves the others alone; the work is
 * aborted with its last caller.
 */
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

/**
 * Resolves or rejects with `work`, or rejects with the signal's reason if that comes first; `work` itself keeps
 * running.
 */
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
