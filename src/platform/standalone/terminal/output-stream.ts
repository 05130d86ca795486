import { fstatSync } from 'node:fs';
import { findFileOutput, type OutputStream } from '../../terminal/file-output.ts';
import type { outputStream as outputStreamNode } from '../../terminal/output-stream.ts';

declare const Bun: {
  file(descriptor: number): { writer(): FileSink };
};

/** A promise if the system takes no more: https://bun.com/docs/runtime/file-io#incremental-writing-with-filesink */
interface FileSink {
  write(chunk: string | Uint8Array): number | Promise<number>;
  flush(): number | Promise<number>;
}

/** Same contract as on Node; Bun's versions of Node's streams cost more start-up time than everything else. */
export const outputStream: typeof outputStreamNode = (descriptor) => findFileOutput(descriptor) ?? findSink(descriptor);

/** One for each descriptor, as on Node, so that every listener gets all errors. */
const sinks: Partial<Record<1 | 2, OutputStream>> = {};

function findSink(descriptor: 1 | 2): OutputStream {
  sinks[descriptor] ??= openSink(descriptor);
  return sinks[descriptor];
}

function openSink(descriptor: 1 | 2): OutputStream {
  const sink = Bun.file(descriptor).writer();
  const drains: (() => void)[] = [];
  const listeners: ((error: NodeJS.ErrnoException) => void)[] = [];
  const onError = (error: NodeJS.ErrnoException): void => {
    for (const listener of listeners) listener(error);
  };
  let waiting = 0;

  const onWritten = (length: number): void => {
    waiting -= length;
    if (waiting === 0) for (const drained of drains.splice(0)) drained();
  };
  /** Undefined if everything was written at once. */
  const send = (chunk: string | Uint8Array): Promise<unknown> | undefined => {
    const written = sink.write(chunk);
    // If `flush` throws, nobody awaits this promise.
    if (typeof written !== 'number') written.catch(() => {});
    const flushed = sink.flush();
    const pending = [written, flushed].filter((step) => typeof step !== 'number');
    return pending.length === 0 ? undefined : Promise.all(pending);
  };
  const write = (chunk: string | Uint8Array, done = (): void => {}): boolean => {
    try {
      const sending = send(chunk);
      // At least one, so that an empty chunk, which is written to await the ones before it, counts as pending.
      const length = chunk.length || 1;
      if (sending !== undefined) waiting += length;
      sending?.then(() => onWritten(length)).then(done, (error) => onError(error));
      if (sending === undefined) done();
    } catch (thrown) {
      onError(thrown as NodeJS.ErrnoException);
    }
    return waiting === 0;
  };
  const terminal = lazyTerminal(descriptor, (error) => onError(error));
  return {
    write,
    on(_, listener) {
      listeners.push(listener);
    },
    once: (_, listener) => drains.push(listener),
    get writableLength() {
      return waiting;
    },
    get writableNeedDrain() {
      return waiting > 0;
    },
    get isTTY() {
      return terminal() !== undefined;
    },
    get columns() {
      return terminal()?.columns ?? 0;
    },
    get rows() {
      return terminal()?.rows ?? 0;
    },
  };
}

/** Bun's own stream, for the window size. Code that draws writes to it, so its errors are handled here, too. */
function lazyTerminal(
  descriptor: 1 | 2,
  onError: (error: NodeJS.ErrnoException) => void,
): () => NodeJS.WriteStream | undefined {
  let found: { readonly stream: NodeJS.WriteStream | undefined } | undefined;
  const find = (): NodeJS.WriteStream | undefined => {
    if (!isTerminal(descriptor)) return undefined;
    return (descriptor === 1 ? process.stdout : process.stderr).on('error', onError);
  };
  return () => {
    found ??= { stream: find() };
    return found.stream;
  };
}

/** Checked in two steps: the second loads a module that files and pipes do not need. */
function isTerminal(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isCharacterDevice() && process.getBuiltinModule('node:tty').isatty(descriptor);
  } catch {
    return false;
  }
}
