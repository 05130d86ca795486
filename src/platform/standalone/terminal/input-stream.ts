import { Readable } from 'node:stream';
import { ReadStream } from 'node:tty';
import type { pipeStream as pipeStreamNode, ttyStream as ttyStreamNode } from '../../terminal/input-stream.ts';

declare const Bun: {
  file(descriptor: number): { stream(): ReadableStream<Uint8Array> };
};

type Reader = ReadableStreamDefaultReader<Uint8Array>;

/**
 * The same promise. The runtime's own `ReadStream` waits in a read that cannot be given up, and so takes a key from those
 * who come after; it only sets the modes here.
 */
export const ttyStream: typeof ttyStreamNode = (descriptor) => {
  const modes = new ReadStream(descriptor);
  let reader: Reader | undefined;
  const start = (): void => {
    if (reader !== undefined || stream.destroyed || stream.readableEnded) return;
    reader = Bun.file(descriptor).stream().getReader();
    follow(reader).catch((error) => stream.destroy(error));
  };
  const stop = (): void => {
    const own = reader;
    reader = undefined;
    own?.cancel().catch(() => {});
  };
  const follow = async (own: Reader): Promise<void> => {
    for (;;) {
      const { done, value } = await own.read();
      if (stream.destroyed) return;
      // What had come when it was stopped is nobody else's any more.
      if (value !== undefined) stream.push(value);
      if (own !== reader) return;
      if (done) return void stream.push(null);
    }
  };
  const stream = new Readable({
    read: start,
    destroy(error, done) {
      stop();
      done(error);
    },
  });
  const { pause, resume } = stream;
  return Object.assign(stream, {
    isTTY: true,
    setRawMode(isRaw: boolean) {
      try {
        modes.setRawMode(isRaw);
      } catch {
        // The terminal is gone, with its modes.
      }
    },
    pause() {
      stop();
      return pause.call(stream);
    },
    resume() {
      start();
      return resume.call(stream);
    },
  });
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
