import { AppError, findStatus } from '../core/error.ts';
import type * as Public from './gmn.d.ts';

interface Arrived {
  readonly partial?: string;
  readonly sessionId?: string;
}

/** What a program gets of an AppError. */
export class GmnError extends Error {
  override readonly name = 'GmnError';
  readonly code: Public.ErrorCode;
  readonly exitCode: number;
  readonly hint: string | undefined;
  readonly partial: string | undefined;
  readonly status: number | undefined;
  readonly retryable: boolean;
  readonly sessionId: string | undefined;

  constructor(thrown: unknown, { partial, sessionId }: Arrived = {}) {
    const error = AppError.from(thrown);
    super(error.message, error.cause === undefined ? undefined : { cause: error.cause });
    this.code = error.fault;
    this.exitCode = error.exitCode;
    this.hint = error.hint;
    this.partial = joinArrived(partial, error.answer);
    this.status = findStatus(error);
    this.retryable = error.retry !== undefined;
    this.sessionId = sessionId;
  }
}

// The build gives the class a shorter name, which Node would show.
Object.defineProperty(GmnError, 'name', { value: 'GmnError' });

export function toGmnError(thrown: unknown, arrived?: Arrived): GmnError {
  return thrown instanceof GmnError ? thrown : new GmnError(thrown, arrived);
}

/** `cause`: the reason of the program's own signal. */
export function turnCancelledError(cause?: unknown): AppError {
  return new AppError('interrupted', 'cancelled', { cause });
}

/** What was shown, then the answer that was withheld, unless that was shown too. */
function joinArrived(shown = '', withheld = ''): string | undefined {
  if (shown.endsWith(withheld)) return shown || undefined;
  return shown === '' ? withheld : `${shown.replace(/\n$/, '')}\n${withheld}`;
}
