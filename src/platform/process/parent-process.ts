const LOOK_MS = 1000;

/**
 * Aborts with `parent`, or soon after the process that started this one is gone: whatever else holds the other end of our
 * standard input then, nobody is left to answer. Keeps no process alive.
 */
export function whileParentLives(parent: AbortSignal): AbortSignal {
  const starter = process.ppid;
  const orphaned = new AbortController();
  const timer = setInterval(() => {
    if (process.ppid === starter) return;
    clearInterval(timer);
    orphaned.abort();
  }, LOOK_MS);
  timer.unref();
  return AbortSignal.any([parent, orphaned.signal]);
}
