/** Resolves when a line was typed on stdin; rejects with the signal's reason when that comes first. For terminals only. */
export function waitForEnter(signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const { stdin } = process;
    const finish = (settle: () => void) => (): void => {
      stdin.off('data', onLine);
      stdin.off('end', onLine);
      signal.removeEventListener('abort', onAbort);
      // A paused terminal still holds the process.
      stdin.pause();
      stdin.unref();
      settle();
    };
    const onLine = finish(resolve);
    const onAbort = finish(() => reject(signal.reason));
    stdin.ref();
    stdin.once('data', onLine);
    stdin.once('end', onLine);
    signal.addEventListener('abort', onAbort, { once: true });
    stdin.resume();
  });
}
