import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { Worker } from 'node:worker_threads';

export type Thread = Worker;

export function countProcessors(): number {
  return availableParallelism();
}

/** `file` is beside the program. The thread gets none of our environment. */
export function startThread(file: string, workerData: unknown): Thread {
  // It prints nothing. If its streams were piped to ours, each worker would add listeners there.
  const streams = { stdin: false, stdout: true, stderr: true };
  return new Worker(resolve(__dirname, file), { workerData, env: {}, ...streams });
}

export async function endThread(thread: Thread): Promise<void> {
  await thread.terminate();
}
