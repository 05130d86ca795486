import { outputStream } from './output-stream.ts';

/**
 * Writes bytes to stdout, for a run that writes nothing else there. Resolves when they have left, or cannot: that is
 * reported once, by the `flush` at the end of the run. Rejects with the signal's reason if that comes first.
 */
export function writeBinary(bytes: Uint8Array, signal: AbortSignal): Promise<void> {
  const stream = outputStream(1);
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    // On failure the callback may come before the 'error' event, which `flush` learns of it by.
    stream.on('error', () => resolve());
    stream.write(bytes, (error) => error || resolve());
  });
}
