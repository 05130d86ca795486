import { setFlagsFromString } from 'node:v8';
import { parentPort, workerData } from 'node:worker_threads';

/** Inside a thread of `worker.ts`: `start` gets the data that the thread was started with, and returns the function for its tasks. */
export function serveTasks<Data, Task, Result>(start: (data: Data) => (task: Task) => Result): void {
  const perform = start(workerData as Data);
  parentPort?.on('message', (task: Task) => parentPort?.postMessage(perform(task)));
}

/** Makes V8 switch to its linear engine when a pattern backtracks too much, unless that engine cannot run it. */
export function enableLinearPatterns(): void {
  setFlagsFromString('--enable-experimental-regexp-engine-on-excessive-backtracks');
}
