import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { build } from 'esbuild';

interface StepCount {
  readonly readers: readonly string[];
  /**
   * How often a block of the code is entered while a text is read, libraries included, and how many characters patterns and searches pass,
   * if each of them passes a character once (test/patterns.test.ts). The same on every machine. One at a time.
   */
  countSteps(reader: string, text: string): Promise<number>;
  stop(): Promise<unknown>;
}

/** Loads a module with its `READERS` into a thread of its own: to count, V8 looks through all that a thread has loaded. */
export async function startStepCount(file: URL): Promise<StepCount> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(file)],
    ...{ bundle: true, platform: 'node', format: 'cjs', write: false, logLevel: 'error' },
  });
  const workerData = outputFiles[0]?.text;
  const worker = new Worker(new URL('./step-worker.mjs', import.meta.url), { workerData });
  const [readers] = await once(worker, 'message');
  return {
    readers,
    async countSteps(reader, text) {
      worker.postMessage({ reader, text });
      const [steps] = await once(worker, 'message');
      return steps;
    },
    stop: () => worker.terminate(),
  };
}
