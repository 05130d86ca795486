import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { ReadStream } from 'node:tty';

/** What is typed on a terminal. Paused or destroyed, it takes nothing: that is left for others. */
export interface TtyStream extends Readable {
  setRawMode(isRaw: boolean): unknown;
}

/** The terminal that is open as this descriptor. Throws if it is none. */
export function ttyStream(descriptor: number): TtyStream {
  return new ReadStream(descriptor);
}

/** Bytes as they come; `destroy` ends the iteration, and lets go of the descriptor. */
export interface ByteStream extends AsyncIterable<unknown> {
  destroy(): unknown;
}

/** What comes through a pipe or socket that is open as this descriptor. */
export function pipeStream(descriptor: number): ByteStream {
  return new Socket({ fd: descriptor, readable: true, writable: false });
}
