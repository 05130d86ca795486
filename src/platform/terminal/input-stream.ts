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
