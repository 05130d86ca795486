import type { AppError } from '../core/error.ts';
import { type Clock, SAID_MS, type Trace } from '../core/io.ts';
import { formatDuration } from '../core/text/format.ts';

const MAX_RETRIES = 3;

/** A longer delay requested by the server is reported instead of waited for. */
export const MAX_SERVER_DELAY_MS = 60_000;

interface RetryOptions {
  /** The first delay; it doubles with each retry. */
  readonly baseMs: number;
  readonly random: () => number;
  readonly atMost?: number;
  readonly now: () => number;
  /** When the run must end, in milliseconds since the epoch; undefined if there is no deadline. */
  readonly deadline?: () => number | undefined;
}

export interface Retry {
  readonly delayMs: number;
  readonly number: number;
  readonly of: number;
}

/** Delays double with ±30 % jitter up to 60 s, and are at least what the server asked for, unless that is longer. */
export function nextRetry(failure: AppError, done: number, options: RetryOptions): Retry | undefined {
  const { retry } = failure;
  if (retry === undefined) return undefined;
  const { atMost = MAX_RETRIES } = options;
  const of = Math.min(atMost, retry.atMost ?? atMost);
  const afterMs = retry.afterMs ?? 0;
  if (done >= of || afterMs > MAX_SERVER_DELAY_MS) return undefined;
  const pauseMs = Math.min(MAX_SERVER_DELAY_MS, options.baseMs * 2 ** done * (0.7 + 0.6 * options.random()));
  const delayMs = Math.round(Math.max(pauseMs, afterMs));
  return fitsDeadline(delayMs, options) ? { delayMs, number: done + 1, of } : undefined;
}

/** If the server's delay did not fit the deadline, the hint says so. */
export function toFinalFailure(failure: AppError, options: RetryOptions): AppError {
  const afterMs = failure.retry?.afterMs ?? 0;
  if (afterMs === 0 || fitsDeadline(afterMs, options)) return failure;
  return failure.with({
    hint: `The server asks to wait ${formatDuration(afterMs)}, longer than --timeout leaves. Raise it with -t.`,
  });
}

export interface RetryPause {
  readonly clock: Clock;
  readonly trace: Trace;
  /** Gets what is said to the user about a long wait. */
  readonly notify?: (message: string) => void;
}

/** Waits before a request that is not part of an answer is sent again. Rejects with the signal's reason. */
export async function pauseBeforeRetry(
  failure: AppError,
  retry: Retry,
  { clock, trace, notify }: RetryPause,
  signal: AbortSignal,
): Promise<void> {
  trace(joinClauses(failure.message, formatRetry(retry)));
  if (retry.delayMs > SAID_MS) notify?.(formatRetryNotice(failure, retry));
  await clock.sleep(retry.delayMs, signal);
}

/** Makes one sentence of two; the message of a server may end in a full stop. */
export function joinClauses(message: string, next: string): string {
  return `${message.replace(/\.$/, '')}; ${next}`;
}

/** Who waits for long has to know how to stop it, also where no spinner shows it. */
export function formatRetryNotice(failure: AppError, retry: Retry): string {
  const stop = retry.delayMs > SAID_MS ? ' (Ctrl+C stops the wait)' : '';
  return `${joinClauses(failure.message, formatRetry(retry))}${stop}`;
}

export function formatRetry({ number, of, delayMs }: Retry): string {
  return `retry ${number} of ${of} in ${formatDuration(delayMs)}`;
}

function fitsDeadline(delayMs: number, { now, deadline }: RetryOptions): boolean {
  const endsAt = deadline?.();
  return endsAt === undefined || now() + delayMs < endsAt;
}
