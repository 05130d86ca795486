/** Runs the work for `key`, or joins it where it is under way. Rejects with the caller's own signal's reason as soon as that comes. */
type Share<Key, Value> = (key: Key, signal: AbortSignal) => Promise<Value>;

interface Running<Value> {
  readonly result: Promise<Value>;
  readonly controller: AbortController;
  waiting: number;
}

/**
 * Makes one piece of work of what several callers want at once. It belongs to none of them: one that leaves takes nothing
 * from the others, and with the last of them it is stopped.
 */
export function sharedWork<Key, Value>(work: (key: Key, signal: AbortSignal) => Promise<Value>): Share<Key, Value> {
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
      await orAborted(settled(running.result), signal);
      running = all.get(key);
    }
    running ??= start(key);
    running.waiting += 1;
    try {
      return await orAborted(running.result, signal);
    } finally {
      running.waiting -= 1;
      if (signal.aborted && running.waiting === 0) {
        running.controller.abort(signal.reason);
        // It has a lock to release, and the process may end right after us.
        await settled(running.result);
      }
    }
  };
}

async function settled(result: Promise<unknown>): Promise<void> {
  await result.catch(() => {});
}

function orAborted<Value>(result: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(signal.reason);
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    result.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}
