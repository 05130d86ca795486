/** The one table of exit codes. `docs/exit-codes.md` is compared with it by a test. */
export const EXIT_CODES = {
  /** The reader of our output went away (`| head`): quiet, and not a failure. */
  pipe: 0,
  internal: 1,
  usage: 1,
  limit: 1,
  auth: 2,
  api: 3,
  config: 4,
  mcp: 5,
  hangup: 129,
  interrupted: 130,
  terminated: 143,
} as const;

export type Fault = keyof typeof EXIT_CODES;

const TYPE_NAMES: Readonly<Record<Fault, string>> = {
  pipe: 'Interrupted',
  internal: 'InternalError',
  usage: 'UsageError',
  limit: 'LimitError',
  auth: 'AuthError',
  api: 'ApiError',
  config: 'ConfigError',
  mcp: 'McpError',
  hangup: 'Interrupted',
  interrupted: 'Interrupted',
  terminated: 'Interrupted',
};

/** When the same call may be sent again: `afterMs` is the server's own wish, if it named one. */
export interface RetryAdvice {
  readonly afterMs?: number;
  /** Fewer attempts than the usual budget, for faults that seldom pass. */
  readonly atMost?: number;
}

/** Thought signatures it did not make, a model it does not have, more than the model can take at once, or the lack of tools. */
type Objection = 'signature' | 'model' | 'length' | 'tools';

export interface ErrorOptions {
  readonly cause?: unknown;
  /** The next step, on one line: a sentence or a command. */
  readonly hint?: string;
  /** The same for people, where it takes several lines; printed instead of `hint`. */
  readonly guide?: string;
  /** The message without its opening, for places that show the kind of failure themselves; see `refused`. */
  readonly words?: string;
  /** Present only if trying the same call again may help. */
  readonly retry?: RetryAdvice;
  /** The HTTP status that brought this about. */
  readonly status?: number;
  /** Whether it is one because somebody took too long. */
  readonly isTimeout?: boolean;
  /** What the server objects to, where the same request can be sent in another way. */
  readonly objection?: Objection;
  /** What the model said, where it was held back because of this. */
  readonly answer?: string;
}

/** The only error a user ever sees: what went wrong and, in `hint`, what to do next. */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly fault: Fault;
  readonly hint: string | undefined;
  readonly guide: string | undefined;
  readonly words: string;
  readonly retry: RetryAdvice | undefined;
  readonly status: number | undefined;
  readonly objection: Objection | undefined;
  readonly answer: string | undefined;
  readonly isTimeout: boolean;
  /** Whether it was shown already; who ends the process because of it then ends it without a word. */
  isTold = false;

  constructor(fault: Fault, message: string, options: ErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.fault = fault;
    this.hint = options.hint;
    this.guide = options.guide;
    this.words = options.words ?? message;
    this.retry = options.retry;
    this.status = options.status;
    this.objection = options.objection;
    this.answer = options.answer;
    this.isTimeout = options.isTimeout ?? false;
  }

  get exitCode(): number {
    return EXIT_CODES[this.fault];
  }

  /** The `type` of the documented error object. */
  get type(): string {
    return TYPE_NAMES[this.fault];
  }

  /** Anything we did not throw on purpose is a bug, unless it is the echo of an abort, or the system's own shortage. */
  static from(thrown: unknown): AppError {
    if (thrown instanceof AppError) return thrown;
    if (thrown instanceof Error && thrown.name === 'AbortError') return new AppError('interrupted', 'Interrupted.');
    if (thrown instanceof Error && 'code' in thrown && (thrown.code === 'EMFILE' || thrown.code === 'ENFILE')) {
      const hint = 'Close some, or raise the limit: ulimit -n 4096';
      return new AppError('internal', 'too many files are open', { cause: thrown, hint });
    }
    return new AppError('internal', thrown instanceof Error ? thrown.message : String(thrown), {
      cause: thrown,
      hint: 'This is a bug in gmn. Run again with --debug and report what it prints.',
    });
  }
}

const OPENINGS = { auth: 'authentication failed', api: 'API error' } as const;

/** The AppError for a server, or a store of credentials, that says no: its message opens with which of them, then `words`. */
export function refused(fault: keyof typeof OPENINGS, words: string, options: ErrorOptions = {}): AppError {
  return new AppError(fault, `${OPENINGS[fault]}: ${words}`, { ...options, words });
}
