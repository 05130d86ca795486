import { deadline } from './clock.ts';

/** How long an answer may still take. */
export interface AnswerTime {
  /** Follows the caller's, and aborts when the time is over. */
  readonly signal: AbortSignal;
  /** All of the time once more: there was a word from the server. */
  restart(): void;
  /** Stops the time while a person is asked something. */
  hold(): void;
  resume(): void;
  clear(): void;
}

/** The time for one answer, which begins now. */
export function answerTime(parent: AbortSignal, ms: number, reason: () => Error): AnswerTime {
  const over = new AbortController();
  const begin = () => {
    const limit = deadline(parent, ms, reason);
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
      if (held > 0) limit.hold();
    },
    hold() {
      held += 1;
      if (held === 1) limit.hold();
    },
    resume() {
      held -= 1;
      if (held === 0) limit.resume();
    },
    clear: () => limit.clear(),
  };
}
