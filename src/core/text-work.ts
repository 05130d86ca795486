/**
 * Heavy work on text from outside, kept from blocking: the thread that waits for keys, signals and timers does what is short, and
 * lets these in between.
 */
export interface TextWork {
  /** Lets keys, signals and timers have their turn. Never rejects. */
  pause(): Promise<void>;
  /**
   * What a job of `text-worker.ts`, in a thread of its own, makes of its input. Undefined if it took more than two seconds, if
   * the run was ended, or if there is no such thread: what was to be laid out is then shown as it was written. Never rejects.
   */
  run(job: TextJob, input: unknown): Promise<unknown>;
}

/** The names of the jobs. */
export type TextJob = 'blocks' | 'diff';
