import { AppError } from '../../core/error.ts';

/** Lets so many in at once, and nobody else. */
export interface Gate {
  /** Runs it now. Throws AppError `limit` if too many are inside, and what the work throws. */
  pass<Result>(work: () => Promise<Result>): Promise<Result>;
}

/** A gate for `most` at once. */
export function gate(most: number): Gate {
  let inside = 0;
  return {
    async pass(work) {
      if (inside >= most) {
        throw new AppError('limit', `${most} calls are running already`, { hint: 'Wait for some of them to end.' });
      }
      inside += 1;
      try {
        return await work();
      } finally {
        inside -= 1;
      }
    },
  };
}
