import { parentPort } from 'node:worker_threads';
import type { TextJob } from '../../core/text-work.ts';
import type { TextResult, TextTask } from './text-thread.ts';

/** Runs inside the thread, one job at a time. A job that throws gives undefined. */
export function serveTextJobs(jobs: Readonly<Record<TextJob, (input: never) => unknown>>): void {
  parentPort?.on('message', async ({ id, job, input }: TextTask) => {
    parentPort?.postMessage({ id, output: await runTextJob(jobs[job], input) } satisfies TextResult);
  });
}

async function runTextJob(work: (input: never) => unknown, input: unknown): Promise<unknown> {
  try {
    // Safe: both sides use the same job names.
    return await work(input as never);
  } catch {
    return undefined;
  }
}
