import { formatDuration } from '../core/duration.ts';
import { AppError } from '../core/error.ts';

const MAX_RETRIES = 3;
const MAX_SERVER_DELAY_MS = 60_000;

export interface RetryOptions {
  /** The first pause; the next ones are twice and four times as long. */
  readonly baseMs: number;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly now: () => number;
  /** When the run must be over, in milliseconds since the epoch. */
  readonly deadline?: number;
}

export interface Retry {
  readonly delayMs: number;
  /** From 1. */
  readonly number: number;
  readonly of: number;
}

/**
 * Whether and when a failed call is sent again, after `done` retries: at most three, the pauses growing with ±30 % jitter,
 * at least what the server asked for if that is no more than 60 s and ends before the deadline.
 */
export function nextRetry(failure: AppError, done: number, options: RetryOptions): Retry | undefined {
  const { retry } = failure;
  if (retry === undefined) return undefined;
  const of = Math.min(MAX_RETRIES, retry.atMost ?? MAX_RETRIES);
  const afterMs = retry.afterMs ?? 0;
  if (done >= of || afterMs > MAX_SERVER_DELAY_MS) return undefined;
  const pauseMs = options.baseMs * 2 ** done * (0.7 + 0.6 * options.random());
  const delayMs = Math.round(Math.max(pauseMs, afterMs));
  if (options.deadline !== undefined && options.now() + delayMs >= options.deadline) return undefined;
  return { delayMs, number: done + 1, of };
}

/** The failure as it is told when it is final: with the wait the server asked for, if that was what did not fit. */
export function finalFailure(failure: AppError, options: RetryOptions): AppError {
  const afterMs = failure.retry?.afterMs ?? 0;
  if (options.deadline === undefined || options.now() + afterMs < options.deadline) return failure;
  if (afterMs === 0) return failure;
  return new AppError(failure.fault, failure.message, {
    cause: failure.cause,
    hint: `The server asks to wait ${formatDuration(afterMs)}, longer than --timeout leaves. Raise it with -t.`,
    ...(failure.status === undefined ? {} : { status: failure.status }),
  });
}
