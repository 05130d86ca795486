import { AppError } from '../../core/error.ts';

/** Lets so many in at once; the others wait in line. */
export interface Gate {
  /**
   * Runs the work when its turn comes. Throws AppError `limit` at once if the line is full, the signal's reason while it
   * waits, and what the work throws.
   */
  pass<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result>;
}

/** A gate for `mostInside` at once and `mostWaiting` behind them. */
export function gate({ mostInside, mostWaiting }: { readonly mostInside: number; readonly mostWaiting: number }): Gate {
  let inside = 0;
  const line = new Set<() => void>();
  const leave = (): void => {
    const [next] = line;
    if (next === undefined) inside -= 1;
    else next();
  };
  const enter = async (signal: AbortSignal): Promise<void> => {
    signal.throwIfAborted();
    if (inside < mostInside) {
      inside += 1;
      return;
    }
    if (line.size >= mostWaiting) {
      throw new AppError('limit', `${inside} calls are running and ${line.size} are waiting: no more are taken`, {
        hint: 'Wait for some of them to end.',
      });
    }
    await new Promise<void>((resolve, reject) => {
      const giveUp = (): void => {
        line.delete(come);
        reject(signal.reason);
      };
      const come = (): void => {
        line.delete(come);
        signal.removeEventListener('abort', giveUp);
        resolve();
      };
      line.add(come);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  };
  return {
    async pass(signal, work) {
      await enter(signal);
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}
