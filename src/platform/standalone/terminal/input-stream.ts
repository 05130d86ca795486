import { Readable } from 'node:stream';
import { ReadStream } from 'node:tty';
import type { pipeStream as pipeStreamNode, ttyStream as ttyStreamNode } from '../../terminal/input-stream.ts';

declare const Bun: {
  file(descriptor: number): { stream(): ReadableStream<Uint8Array> };
};

type Reader = ReadableStreamDefaultReader<Uint8Array>;

/** Bun's `ReadStream` is used for the modes only: its pending read would swallow a key meant for the next reader. */
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
      // What arrived before the stop was taken from the terminal and must not be lost.
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
        // The terminal is gone.
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

/** Same contract as on Node; Bun's `node:net` sockets cannot read from a descriptor. */
export const pipeStream: typeof pipeStreamNode = (descriptor) => {
  const reader = Bun.file(descriptor).stream().getReader();
  const destroy = (): void => {
    reader.cancel().catch(() => {});
  };
  async function* chunks(): AsyncGenerator<Uint8Array, void> {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  }
  return { [Symbol.asyncIterator]: chunks, destroy };
};
