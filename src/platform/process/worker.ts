import { resolve } from 'node:path';
import { Worker } from 'node:worker_threads';

/** Runs a file beside the program in a worker thread, without our environment and without output. */
export function startThread(file: string, workerData: unknown): Worker {
  // It prints nothing; piped through to ours, each worker would add listeners to our streams.
  const streams = { stdin: false, stdout: true, stderr: true };
  return new Worker(resolve(__dirname, file), { workerData, env: {}, ...streams });
}

export async function endThread(thread: Worker): Promise<void> {
  await thread.terminate();
}
