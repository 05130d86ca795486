import { findFileOutput, type OutputStream } from './file-output.ts';

/** Node's own name for what is behind a stream. */
interface HandleOwner {
  readonly _handle?: { setBlocking?(isBlocking: boolean): unknown } | null;
}

export function outputStream(descriptor: 1 | 2): OutputStream {
  return findFileOutput(descriptor) ?? unblock(descriptor === 1 ? process.stdout : process.stderr);
}

/**
 * On Windows Node waits in every write to a pipe until it is read, and neither a timer nor a signal comes in between: a reader that does not
 * read would keep the process for ever. Before it exits by itself, all that was written is flushed.
 */
function unblock(stream: NodeJS.WriteStream): NodeJS.WriteStream {
  if (process.platform === 'win32') (stream as HandleOwner)._handle?.setBlocking?.(false);
  return stream;
}
