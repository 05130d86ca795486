import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { AppError } from '../../../core/error.ts';
import type { endThread as endThreadNode, startThread as startThreadNode } from '../../process/worker.ts';

/** Runs the program it is given. Bun would keep a longer source in ~/.bun: it caches what has more than 4 KB. */
const LOADER = `
const { runInThisContext } = require('node:vm');
const { program } = require('node:worker_threads').workerData;
runInThisContext('(function (require) {' + program + '\\n})')(require);`;

const GRACE_MS = 200;
const MAX_STUCK = 2;

/** Threads that could not be ended; each may keep a core busy. */
let stuck = 0;

/** Same contract as on Node, but throws AppError `usage` once too many threads could not be ended. */
export const startThread: typeof startThreadNode = (file, workerData) => {
  if (stuck >= MAX_STUCK) {
    throw new AppError('usage', 'earlier searches with slow patterns are still running', {
      hint: 'Restart gmn. On Node it can stop such searches; this executable cannot.',
    });
  }
  // A thread cannot be started from a file inside the executable.
  const program = readFileSync(join(__dirname, file), 'utf8');
  const data = { ...(workerData as object), program };
  return new Worker(LOADER, { eval: true, workerData: data, env: {}, stdin: false, stdout: true, stderr: true });
};

/** A thread inside a regular expression cannot be ended until the match is over; it is left behind and counted. */
export const endThread: typeof endThreadNode = async (thread) => {
  const ended = thread.terminate().then(() => true);
  const late = new Promise<false>((resolve) => setTimeout(() => resolve(false), GRACE_MS));
  if (await Promise.race([ended, late])) return;
  stuck += 1;
  thread.unref();
  thread.once('exit', () => {
    stuck -= 1;
  });
};

export const countProcessors = (): number => availableParallelism();
