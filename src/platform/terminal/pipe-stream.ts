import { Socket } from 'node:net';

/** Bytes as they come; `destroy` ends the iteration, and lets go of the descriptor. */
export interface ByteStream extends AsyncIterable<unknown> {
  destroy(): unknown;
}

/** What comes through a pipe or socket that is open as this descriptor. */
export function pipeStream(descriptor: number): ByteStream {
  return new Socket({ fd: descriptor, readable: true, writable: false });
}
