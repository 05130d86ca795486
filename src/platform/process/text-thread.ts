import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { TextJob, TextWork } from '../../core/text-work.ts';
import { onAbort } from '../runtime/abort.ts';

/** Set by the build: the file that the thread runs, beside this one. */
declare const TEXT_WORKER: string;

const MAX_MS = 2000;
const IDLE_MS = 1000;
/** A few hundred kilobytes, e.g. a table of many rows and columns, can need gigabytes. */
const MAX_HEAP_MB = 256;

export interface TextTask {
  readonly id: number;
  readonly job: TextJob;
  readonly input: unknown;
}

export interface TextResult {
  readonly id: number;
  readonly output: unknown;
}

/**
 * Starts a thread with the first job, and ends it when the signal aborts, when a job takes too long, or when it is idle. After a
 * job that took too long no other one runs: text made to be slow would take that time again and again.
 */
export function textThread(
  signal: AbortSignal,
  { file, maxMs = MAX_MS }: { readonly file?: string; readonly maxMs?: number } = {},
): TextWork {
  let worker: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;
  let isSpent = false;
  let last: Promise<unknown> = Promise.resolve();
  let nextId = 0;
  const end = (): void => {
    void worker?.terminate();
    worker = undefined;
  };
  const perform = (job: TextJob, input: unknown): Promise<unknown> => {
    if (isSpent || signal.aborted) return Promise.resolve(undefined);
    clearTimeout(idle);
    let thread: Worker;
    try {
      worker ??= startWorker(file ?? join(__dirname, TEXT_WORKER));
      thread = worker;
    } catch {
      isSpent = true;
      return Promise.resolve(undefined);
    }
    return new Promise((resolve) => {
      const id = nextId++;
      const finish = (output: unknown): void => {
        clearTimeout(timer);
        stopWaiting();
        thread.removeAllListeners();
        thread.on('error', () => {});
        resolve(output);
      };
      const giveUp = (): void => {
        isSpent = true;
        end();
        finish(undefined);
      };
      const timer = setTimeout(giveUp, maxMs);
      const stopWaiting = onAbort(signal, giveUp);
      thread.on('message', (result: TextResult) => {
        if (result.id !== id) return;
        idle = setTimeout(end, IDLE_MS).unref();
        finish(result.output);
      });
      thread.on('error', giveUp);
      thread.on('exit', giveUp);
      thread.postMessage({ id, job, input } satisfies TextTask);
    });
  };
  return {
    pause: () => new Promise((resolve) => setImmediate(resolve)),
    run(job, input) {
      last = last.then(() => perform(job, input));
      return last;
    },
  };
}

/** Gets none of our environment. Its output is not piped to ours, because every worker would add listeners there. */
function startWorker(file: string): Worker {
  const resourceLimits = { maxOldGenerationSizeMb: MAX_HEAP_MB };
  const worker = new Worker(file, { env: {}, stdin: false, stdout: true, stderr: true, resourceLimits });
  worker.unref();
  return worker;
}
