/** A test compares them with `docs/output.md`. */
export const EXIT_CODES = {
  /** The reader of our output went away (`| head`): silent, and not a failure. */
  pipe: 0,
  internal: 1,
  usage: 1,
  limit: 1,
  verify: 1,
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
  verify: 'VerifyError',
  auth: 'AuthError',
  api: 'ApiError',
  config: 'ConfigError',
  mcp: 'McpError',
  hangup: 'Interrupted',
  interrupted: 'Interrupted',
  terminated: 'Interrupted',
};

/** When the same request may be sent again. `afterMs` is the delay the server asked for, if any. */
export interface RetryAdvice {
  readonly afterMs?: number;
  /** Fewer attempts than usual, for errors that rarely go away by themselves. */
  readonly atMost?: number;
}

/**
 * What the server rejects: thought signatures of another backend, an unknown model, too long an input, or a request
 * without tools.
 */
type Objection = 'signature' | 'model' | 'length' | 'tools';

/** The quota that a server says is exceeded; or the user's own. */
export interface QuotaFault {
  /**
   * `minute`: waiting helps. `day`: it resets after this run. `plan`: the plan does not include it. `run`: what
   * `--max-cost` allows is spent.
   */
  readonly per: 'minute' | 'day' | 'plan' | 'run';
  /** Absent: requests. */
  readonly of?: 'tokens';
  /** How many in a minute, if the server says so. */
  readonly limit?: number;
  /** When it resets, as a sentence. */
  readonly resets?: string;
  /** How long to wait, if that is longer than a single request would. */
  readonly waitMs?: number;
}

export interface ErrorOptions {
  readonly cause?: unknown;
  /** The next step, on one line: a sentence or a command. */
  readonly hint?: string;
  /** A hint of several lines for people; printed instead of `hint`. */
  readonly guide?: string;
  /** The message without its prefix, for places that show the kind of failure themselves; see `serverError`. */
  readonly detail?: string;
  /** Present only if sending the same request again may help. */
  readonly retry?: RetryAdvice;
  readonly status?: number;
  readonly isTimeout?: boolean;
  readonly objection?: Objection;
  readonly quota?: QuotaFault;
  /** How many tokens the model takes, if the objection is `length` and the server said it. */
  readonly windowTokens?: number | undefined;
  /** The model's answer, if it was withheld because of this error. */
  readonly answer?: string;
  readonly output?: string;
}

/** The only error type shown to users: `message` says what went wrong, `hint` what to do next. */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly fault: Fault;
  readonly hint: string | undefined;
  readonly guide: string | undefined;
  readonly detail: string;
  readonly retry: RetryAdvice | undefined;
  readonly status: number | undefined;
  readonly objection: Objection | undefined;
  readonly quota: QuotaFault | undefined;
  readonly windowTokens: number | undefined;
  readonly answer: string | undefined;
  readonly output: string | undefined;
  readonly isTimeout: boolean;
  /** Already shown to the user, so it must not be printed again. */
  isReported = false;

  constructor(fault: Fault, message: string, options: ErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.fault = fault;
    this.hint = options.hint;
    this.guide = options.guide;
    this.detail = options.detail ?? message;
    this.retry = options.retry;
    this.status = options.status;
    this.objection = options.objection;
    this.quota = options.quota;
    this.windowTokens = options.windowTokens;
    this.answer = options.answer;
    this.output = options.output;
    this.isTimeout = options.isTimeout ?? false;
  }

  get exitCode(): number {
    return EXIT_CODES[this.fault];
  }

  get type(): string {
    return TYPE_NAMES[this.fault];
  }

  with(changes: Partial<Omit<AppError, 'name' | 'exitCode' | 'type' | 'with'>>): this {
    const copy = new AppError(this.fault, this.message, { cause: this.cause });
    const { stack } = this;
    return Object.setPrototypeOf(Object.assign(copy, this, { stack }, changes), Object.getPrototypeOf(this));
  }

  /** Anything we did not throw on purpose is reported as a bug, except aborts and a lack of file descriptors. */
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

const PREFIXES = { auth: 'authentication failed', api: 'API error' } as const;

export function serverError(fault: keyof typeof PREFIXES, detail: string, options: ErrorOptions = {}): AppError {
  return new AppError(fault, `${PREFIXES[fault]}: ${detail}`, { ...options, detail });
}
