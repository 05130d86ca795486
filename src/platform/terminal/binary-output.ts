import { outputStream } from './output-stream.ts';

/** For a run that writes nothing else to stdout. A failure is reported by the `flush` at the end of the run. */
export function writeBinary(bytes: Uint8Array, signal: AbortSignal): Promise<void> {
  const stream = outputStream(1);
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    // On failure the callback may come before the 'error' event, on which `flush` depends.
    stream.on('error', () => resolve());
    stream.write(bytes, (error) => error || resolve());
  });
}
