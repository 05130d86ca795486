import { Worker } from 'node:worker_threads';

/** Runs a program in a worker thread, without our environment and without output. */
export function startThread(program: string, workerData: unknown): Worker {
  // Not piped to our streams, as each worker would add listeners there.
  const streams = { stdin: false, stdout: true, stderr: true };
  return new Worker(program, { eval: true, workerData, env: {}, ...streams });
}

export async function endThread(thread: Worker): Promise<void> {
  await thread.terminate();
}
