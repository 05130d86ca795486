import type { pipeStream as pipeStreamNode } from '../../terminal/pipe-stream.ts';

declare const Bun: {
  file(descriptor: number): { stream(): ReadableStream<Uint8Array> };
};

/** The same promise; a socket of the runtime's `node:net` reads nothing from a descriptor. */
export const pipeStream: typeof pipeStreamNode = (descriptor) => {
  const reader = Bun.file(descriptor).stream().getReader();
  const destroy = (): void => {
    // Nobody is left to hear of it.
    reader.cancel().catch(() => {});
  };
  async function* chunks(): AsyncGenerator<Uint8Array, void> {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  }
  return { [Symbol.asyncIterator]: chunks, destroy };
};
