import { Worker } from 'node:worker_threads';
import { AppError } from '../../../core/error.ts';
import type { endThread as endThreadNode, startThread as startThreadNode } from '../../process/worker.ts';

/** How long a thread may take to end. */
const GRACE_MS = 200;
/** So many threads that cannot be ended are enough for one process. */
const MAX_STUCK = 2;

let stuck = 0;

/** The same promise, until too many threads could not be ended. Throws AppError `usage` then. */
export const startThread: typeof startThreadNode = (program, workerData) => {
  if (stuck >= MAX_STUCK) {
    throw new AppError('usage', 'patterns that take too long are still being searched for', {
      hint: 'Start gmn again. Run by Node (npm i -g gmn) it can stop such searches; this executable cannot.',
    });
  }
  return new Worker(program, { eval: true, workerData, env: {}, stdin: false, stdout: true, stderr: true });
};

/** Ends a thread, but for one that is inside a pattern: the runtime ends it when it comes out, and nobody waits for that. */
export const endThread: typeof endThreadNode = async (thread) => {
  const ended = thread.terminate().then(() => true);
  const late = new Promise<false>((resolve) => setTimeout(() => resolve(false), GRACE_MS));
  if (await Promise.race([ended, late])) return;
  stuck += 1;
  thread.unref();
  thread.once('exit', () => {
    stuck -= 1;
  });
};
