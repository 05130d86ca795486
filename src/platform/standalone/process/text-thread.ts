import type { textThread as textThreadNode } from '../../process/text-thread.ts';

/** Bun cannot end a thread that is inside a regular expression, so there is none, and slow text is shown as source. */
export const textThread: typeof textThreadNode = () => ({
  pause: () => new Promise((resolve) => setImmediate(resolve)),
  run: async () => undefined,
});
