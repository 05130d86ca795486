/** Turns of one session follow each other; those of different sessions do not wait. */
export interface TurnQueues {
  /** Resolves when the key is free, with the function that frees it again. Throws the signal's reason. */
  enter(key: string, signal: AbortSignal): Promise<() => void>;
}

/** One queue a key, gone when nobody is in it. */
export function turnQueues(): TurnQueues {
  const last = new Map<string, Promise<void>>();
  return {
    async enter(key, signal) {
      const before = last.get(key);
      let free: () => void = () => {};
      const turn = new Promise<void>((resolve) => {
        free = resolve;
      });
      const queue = (before ?? Promise.resolve()).then(() => turn);
      last.set(key, queue);
      const leave = (): void => {
        free();
        if (last.get(key) === queue) last.delete(key);
      };
      try {
        await Promise.race([before, aborted(signal)]);
        return leave;
      } catch (thrown) {
        leave();
        throw thrown;
      }
    },
  };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
