import { onAbort } from './abort.ts';

export interface Condition {
  notifyAll(): void;
  wait(signal?: AbortSignal): Promise<void>;
}

export function createCondition(): Condition {
  const waiting = new Set<() => void>();
  return {
    notifyAll() {
      for (const wake of [...waiting]) wake();
    },
    async wait(signal) {
      signal?.throwIfAborted();
      await new Promise<void>((resolve, reject) => {
        const unfollow =
          signal &&
          onAbort(signal, () => {
            waiting.delete(wake);
            reject(signal.reason);
          });
        const wake = (): void => {
          unfollow?.();
          waiting.delete(wake);
          resolve();
        };
        waiting.add(wake);
      });
    },
  };
}
