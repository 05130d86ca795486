import { setFlagsFromString } from 'node:v8';
import { parentPort, workerData } from 'node:worker_threads';
import type { TextJob } from '../../core/text-work.ts';
import type { TextResult, TextTask } from './text-thread.ts';

/** Inside the thread: does one job after the other. One that throws has no result. */
export function serveTextJobs(jobs: Readonly<Record<TextJob, (input: never) => unknown>>): void {
  parentPort?.on('message', async ({ id, job, input }: TextTask) => {
    parentPort?.postMessage({ id, output: await outputOf(jobs[job], input) } satisfies TextResult);
  });
}

async function outputOf(work: (input: never) => unknown, input: unknown): Promise<unknown> {
  try {
    // Each job is called with what was sent to it: the names are the same on both sides.
    return await work(input as never);
  } catch {
    return undefined;
  }
}

/** Inside a thread of `worker.ts`: makes the function for its tasks of what it was started with, and answers each task. */
export function serveTasks<Data, Task, Result>(start: (data: Data) => (task: Task) => Result): void {
  // The type of the data is that which the thread was started with.
  const perform = start(workerData as Data);
  parentPort?.on('message', (task: Task) => parentPort?.postMessage(perform(task)));
}

/** From here on, V8 goes over to its linear engine when a pattern backtracks too much, unless that cannot run the pattern. */
export function enableLinearPatterns(): void {
  setFlagsFromString('--enable-experimental-regexp-engine-on-excessive-backtracks');
}
