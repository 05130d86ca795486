export interface TextWork {
  /** Yields to the event loop. Never rejects. */
  pause(): Promise<void>;
  /**
   * Runs a job of `text-worker.ts` in a thread and returns its result. Undefined if it took more than two seconds, if
   * the run was ended, or if there is no such thread; the text is then shown as written. Never rejects.
   */
  run(job: TextJob, input: unknown): Promise<unknown>;
}

export type TextJob = 'blocks' | 'diff';
