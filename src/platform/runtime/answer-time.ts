import { createDeadline } from './clock.ts';

/** The timeout of one MCP response; restarts with every sign of life. */
export interface RestartableDeadline {
  /** Follows the parent, and aborts at the deadline. */
  readonly signal: AbortSignal;
  /** Restarts with the full time: the server sent something. */
  restart(): void;
  /** Stops the clock while the user is asked something. Calls nest. */
  pause(): void;
  resume(): void;
  clear(): void;
}

export function createRestartableDeadline(parent: AbortSignal, ms: number, reason: () => Error): RestartableDeadline {
  const over = new AbortController();
  const begin = () => {
    const limit = createDeadline(parent, ms, reason);
    const stop = (): void => over.abort(limit.signal.reason);
    if (limit.signal.aborted) stop();
    limit.signal.addEventListener('abort', stop, { once: true });
    return limit;
  };
  let limit = begin();
  let held = 0;
  return {
    signal: over.signal,
    restart() {
      limit.clear();
      limit = begin();
      if (held > 0) limit.pause();
    },
    pause() {
      held += 1;
      if (held === 1) limit.pause();
    },
    resume() {
      held -= 1;
      if (held === 0) limit.resume();
    },
    clear: () => limit.clear(),
  };
}
