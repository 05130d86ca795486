import { Worker } from 'node:worker_threads';

/** Runs a program in a thread of its own, which knows nothing of our environment and prints nothing. */
export function startThread(program: string, workerData: unknown): Worker {
  // What it prints is nothing; passed on to ours, every worker would listen there.
  const streams = { stdin: false, stdout: true, stderr: true };
  return new Worker(program, { eval: true, workerData, env: {}, ...streams });
}

/** Ends a thread, whatever it is doing. */
export async function endThread(thread: Worker): Promise<void> {
  await thread.terminate();
}
