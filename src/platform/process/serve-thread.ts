import { setFlagsFromString } from 'node:v8';
import { parentPort, workerData } from 'node:worker_threads';
import type { TextJob } from '../../core/text-work.ts';
import type { TextResult, TextTask } from './text-thread.ts';

/** Inside the thread: runs one job after the other. A job that throws has no result. */
export function serveTextJobs(jobs: Readonly<Record<TextJob, (input: never) => unknown>>): void {
  parentPort?.on('message', async ({ id, job, input }: TextTask) => {
    parentPort?.postMessage({ id, output: await runTextJob(jobs[job], input) } satisfies TextResult);
  });
}

async function runTextJob(work: (input: never) => unknown, input: unknown): Promise<unknown> {
  try {
    // The input is of the job's own type: both sides use the same names.
    return await work(input as never);
  } catch {
    return undefined;
  }
}

/** Inside a thread of `worker.ts`: `start` gets the data that the thread was started with, and returns the function for its tasks. */
export function serveTasks<Data, Task, Result>(start: (data: Data) => (task: Task) => Result): void {
  const perform = start(workerData as Data);
  parentPort?.on('message', (task: Task) => parentPort?.postMessage(perform(task)));
}

/** Makes V8 switch to its linear engine when a pattern backtracks too much, unless that engine cannot run it. */
export function enableLinearPatterns(): void {
  setFlagsFromString('--enable-experimental-regexp-engine-on-excessive-backtracks');
}
