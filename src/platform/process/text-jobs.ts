import { parentPort } from 'node:worker_threads';
import type { TextJob } from '../../core/text-work.ts';
import type { TextResult, TextTask } from './text-thread.ts';

/** Inside the thread: does one job after the other. One that throws has no result. */
export function serveTextJobs(jobs: Readonly<Record<TextJob, (input: never) => unknown>>): void {
  parentPort?.on('message', async ({ id, job, input }: TextTask) => {
    parentPort?.postMessage({ id, output: await runTextJob(jobs[job], input) } satisfies TextResult);
  });
}

async function runTextJob(work: (input: never) => unknown, input: unknown): Promise<unknown> {
  try {
    // Each job is called with what was sent to it: the names are the same on both sides.
    return await work(input as never);
  } catch {
    return undefined;
  }
}
