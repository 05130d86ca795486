/** Where output goes: as much of Node's own streams as is used. */
export interface OutputStream {
  /** False if there is no room for more: `drain` says when there is. `done` is called when it has left, or with why it cannot. */
  write(chunk: string, done?: (error?: Error | null) => void): boolean;
  on(event: 'error', listener: (error: NodeJS.ErrnoException) => void): unknown;
  once(event: 'drain', listener: () => void): unknown;
  /** What has not left yet. */
  readonly writableLength: number;
  readonly writableNeedDrain: boolean;
  readonly isTTY: boolean;
  /** Of a terminal. */
  readonly columns: number;
}

/** Standard output (1) or standard error (2). */
export function outputStream(descriptor: 1 | 2): OutputStream {
  return descriptor === 1 ? process.stdout : process.stderr;
}
