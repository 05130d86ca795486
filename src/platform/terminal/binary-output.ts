import { outputStream } from './output-stream.ts';

/**
 * Writes bytes to stdout, for a run that writes nothing else there. Resolves when they are written or have failed; the `flush`
 * at the end of the run reports the failure. Rejects with the signal's reason if that comes first.
 */
export function writeBinary(bytes: Uint8Array, signal: AbortSignal): Promise<void> {
  const stream = outputStream(1);
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    // On failure the callback may come before the 'error' event, on which `flush` depends.
    stream.on('error', () => resolve());
    stream.write(bytes, (error) => error || resolve());
  });
}
