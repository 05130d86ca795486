/** The part of Node's writable streams that is used. */
export interface OutputStream {
  /** False if the buffer is full: wait for `drain`. `done` is called when the chunk was written, or with the error. */
  write(chunk: string, done?: (error?: Error | null) => void): boolean;
  on(event: 'error', listener: (error: NodeJS.ErrnoException) => void): unknown;
  once(event: 'drain', listener: () => void): unknown;
  readonly writableLength: number;
  readonly writableNeedDrain: boolean;
  readonly isTTY: boolean;
  readonly columns: number;
  readonly rows: number;
}

export function outputStream(descriptor: 1 | 2): OutputStream {
  return descriptor === 1 ? process.stdout : process.stderr;
}
