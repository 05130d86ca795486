import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { TextJob, TextWork } from '../../core/text-work.ts';
import { onAbort } from '../runtime/abort.ts';

/** Set by the build: the file beside this one that the thread runs. */
declare const TEXT_WORKER: string;

/** A job that takes longer is not worth waiting for. */
const MAX_MS = 2000;
/** A thread that has nothing to do ends after this. */
const IDLE_MS = 1000;
/** A text of a few hundred kilobytes can ask for gigabytes, as a table of many rows and columns does. */
const MAX_HEAP_MB = 256;

/** What goes to the thread, and what comes back. */
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
 * Starts the thread with its first job, and ends it when the signal aborts, when a job takes too long, or when it has nothing to
 * do. After a job that took too long there are no more: an answer that is made to be slow would take that time again and again.
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
        // An error that comes late concerns nobody.
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

/** It knows nothing of our environment; what it prints is nothing, and passed on to ours, every worker would listen there. */
function startWorker(file: string): Worker {
  const resourceLimits = { maxOldGenerationSizeMb: MAX_HEAP_MB };
  const worker = new Worker(file, { env: {}, stdin: false, stdout: true, stderr: true, resourceLimits });
  worker.unref();
  return worker;
}
