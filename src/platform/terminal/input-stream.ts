import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { ReadStream } from 'node:tty';

/** Typed input. While paused or destroyed it reads nothing, so that the input is left for other readers. */
export interface TtyStream extends Readable {
  setRawMode(isRaw: boolean): unknown;
}

export function ttyStream(descriptor: number): TtyStream {
  return new ReadStream(descriptor);
}

/** `destroy` ends the iteration and releases the descriptor. */
export interface ByteStream extends AsyncIterable<unknown> {
  destroy(): unknown;
}

export function pipeStream(descriptor: number): ByteStream {
  return new Socket({ fd: descriptor, readable: true, writable: false });
}
