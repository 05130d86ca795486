import { fstatSync, writeSync } from 'node:fs';

export interface OutputStream {
  /** False if the buffer is full: wait for `drain`. `done` is called when the chunk was written, or with the error. */
  write(chunk: string | Uint8Array, done?: (error?: Error | null) => void): boolean;
  on(event: 'error', listener: (error: NodeJS.ErrnoException) => void): unknown;
  once(event: 'drain', listener: () => void): unknown;
  readonly writableLength: number;
  readonly writableNeedDrain: boolean;
  readonly isTTY: boolean;
  readonly columns: number;
  readonly rows: number;
}

/** Undefined if it is no file. On a full disk, the streams of Node and Bun treat a partial write as a complete one. */
export function findFileOutput(descriptor: 1 | 2): OutputStream | undefined {
  if (!isFile(descriptor)) return undefined;
  outputs[descriptor] ??= createFileOutput(descriptor);
  return outputs[descriptor];
}

/** One for each descriptor, like Node's own streams, so that every listener gets all errors. */
const outputs: Partial<Record<1 | 2, OutputStream>> = {};

function createFileOutput(descriptor: 1 | 2): OutputStream {
  const listeners: ((error: NodeJS.ErrnoException) => void)[] = [];
  return {
    write(chunk, done = () => {}) {
      try {
        const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
        for (let written = 0; written < bytes.length; ) written += writeSync(descriptor, bytes, written);
        done();
      } catch (thrown) {
        // `writeSync` throws nothing else.
        const error = thrown as NodeJS.ErrnoException;
        done(error);
        for (const listener of listeners) listener(error);
      }
      return true;
    },
    on(_, listener) {
      listeners.push(listener);
    },
    once: () => {},
    writableLength: 0,
    writableNeedDrain: false,
    isTTY: false,
    columns: 0,
    rows: 0,
  };
}

function isFile(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isFile();
  } catch {
    return false;
  }
}
