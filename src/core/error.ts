/** The exit code and the `type` in JSON of each kind of error. A test compares them with `docs/output.md`. */
export const FAULTS = {
  /** The reader of our output went away (`| head`): silent, and not a failure. */
  pipe: { exitCode: 0, type: 'Interrupted' },
  internal: { exitCode: 1, type: 'InternalError' },
  usage: { exitCode: 1, type: 'UsageError' },
  limit: { exitCode: 1, type: 'LimitError' },
  verify: { exitCode: 1, type: 'VerifyError' },
  auth: { exitCode: 2, type: 'AuthError' },
  api: { exitCode: 3, type: 'ApiError' },
  config: { exitCode: 4, type: 'ConfigError' },
  mcp: { exitCode: 5, type: 'McpError' },
  hangup: { exitCode: 129, type: 'Interrupted' },
  interrupted: { exitCode: 130, type: 'Interrupted' },
  terminated: { exitCode: 143, type: 'Interrupted' },
} as const;

export type Fault = keyof typeof FAULTS;

export interface RetryAdvice {
  readonly afterMs?: number;
  /** Fewer attempts than usual, for errors that rarely go away by themselves. */
  readonly atMost?: number;
}

type Objection = 'signature' | 'model' | 'length' | 'tools';

export interface QuotaFault {
  /** `minute`: waiting helps. `day`: it resets after this run. `plan`: it is not included. `account`: no model answers any more. */
  readonly per: 'minute' | 'day' | 'plan' | 'account';
  /** Absent: requests. */
  readonly of?: 'tokens';
  readonly limit?: number;
  /** As a sentence. */
  readonly resets?: string;
  /** How long to wait, if that is longer than a single request would. */
  readonly waitMs?: number;
}

/** What only errors of one fault carry. A fault that is not here carries nothing of its own. */
interface FaultDetails {
  readonly api: {
    /** Absent if no response came. */
    readonly status?: number;
    readonly isTimeout?: boolean;
    /** There was no connection, so that the request has not been sent. */
    readonly isUnsent?: true;
    readonly objection?: Objection;
    /** How many tokens the model takes, if the objection is `length` and the server said it. */
    readonly windowTokens?: number;
    /** The service would not answer: the prompt, or what it had begun to say, is against its rules. */
    readonly isBlocked?: true;
    readonly quota?: QuotaFault;
  };
  readonly auth: {
    readonly status?: number;
    /** There is no credential, or none of the requested type, in contrast to one that cannot be used. */
    readonly isMissing?: true;
    /** A hint of several lines for people; printed instead of `hint`. */
    readonly guide?: string;
  };
  readonly mcp: { readonly status?: number };
  /** `output` is the end of what the command printed. */
  readonly verify: { readonly output?: string };
  readonly limit: {
    /** What `--max-cost` allows is spent. */
    readonly isCostSpent?: true;
    /** `--max-turns` model calls were made. */
    readonly isTurnsSpent?: true;
    /** For the caller of the MCP server, as in `usage`. */
    readonly code?: 'OVERLOADED';
  };
  readonly usage: {
    readonly code?: 'SESSION_NOT_FOUND' | 'JOB_NOT_FOUND' | 'INVALID_DIRECTORY';
    /** The one that was not found. */
    readonly sessionId?: string;
  };
}

type Details<F extends Fault> = F extends keyof FaultDetails ? FaultDetails[F] : Readonly<Record<never, never>>;

type CommonOptions = Partial<Pick<AppError, 'cause' | 'hint' | 'retry' | 'shortMessage' | 'answer'>>;

export type ErrorOptions<F extends Fault> = CommonOptions & Details<F>;

class FaultError<F extends Fault> extends Error {
  override readonly name = 'AppError';
  readonly fault: F;
  readonly hint: string | undefined;
  /** Present only if sending the same request again may help. */
  readonly retry: RetryAdvice | undefined;
  /** The message without its prefix, for places that show the kind of failure themselves; see `serverError`. */
  readonly shortMessage: string;
  /** The model's answer, if it was withheld because of this error. */
  readonly answer: string | undefined;
  readonly details: Details<F>;
  /** Already shown to the user, so it must not be printed again. */
  isReported = false;

  constructor(fault: F, message: string, options?: ErrorOptions<F>) {
    const { cause, hint, retry, shortMessage = message, answer, ...details }: CommonOptions = options ?? {};
    super(message, { cause });
    this.fault = fault;
    this.hint = hint;
    this.retry = retry;
    this.shortMessage = shortMessage;
    this.answer = answer;
    // The options without the common ones; the compiler cannot subtract from a type that depends on F.
    this.details = details as Details<F>;
  }

  get exitCode(): number {
    return FAULTS[this.fault].exitCode;
  }

  get type(): string {
    return FAULTS[this.fault].type;
  }

  with(changes: CommonOptions & { readonly message?: string }): this {
    const { cause, stack } = this;
    return Object.assign(new FaultError<Fault>(this.fault, this.message, { cause }), this, { stack }, changes);
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

/** The only error type shown to users. `error.details` is known once `error.fault` is compared with a fault. */
export type AppError<F extends Fault = Fault> = { [One in Fault]: FaultError<One> }[F];

/** The class; TypeScript does not see that its instances are the members of the union. */
export const AppError = FaultError as unknown as {
  new <F extends Fault>(fault: F, message: string, options?: ErrorOptions<F>): AppError<F>;
  [Symbol.hasInstance](value: unknown): value is AppError;
  from(thrown: unknown): AppError;
};

/** The HTTP status with which a server answered, whichever fault that became. */
export function findStatus(thrown: unknown): number | undefined {
  return thrown instanceof AppError && 'status' in thrown.details ? thrown.details.status : undefined;
}

const PREFIXES = { auth: 'authentication failed', api: 'API error' } as const;

export function serverError<F extends 'auth' | 'api'>(fault: F, detail: string, options?: ErrorOptions<F>): AppError {
  return new AppError(fault, `${PREFIXES[fault]}: ${detail}`, Object.assign({ shortMessage: detail }, options));
}
