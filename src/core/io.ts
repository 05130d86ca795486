/** One of our two outputs. */
export interface Out {
  /**
   * Resolves when there is room for more, so that awaiting it is all the back-pressure a writer needs.
   * Rejects with fault `pipe` once the reader is gone, and with fault `internal` on any other failure (a full disk).
   */
  write(chunk: string): Promise<void>;
  readonly isTerminal: boolean;
  /** Width in columns; 80 when it is not a terminal. */
  readonly columns: number;
  /** Whether colour and other styling may be written here. */
  readonly isStyled: boolean;
}

export interface Io {
  readonly out: Out;
  /** For words to the person. It never rejects: that nobody can read them is no reason to fail. */
  readonly err: Out;
}

export type Env = Readonly<Record<string, string | undefined>>;

/** Time, handed in so that it can be replaced. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after `ms`; rejects with the signal's reason if that comes first. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** One line of the `--debug` trace, redacted on its way out. A no-op unless `--debug` or `--debug-file` was given. */
export type Trace = (line: string) => void;

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Called once the connection stands and the request goes out on it. */
  readonly onSent?: () => void;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Decoded (gzip, br, deflate) bytes as they arrive. Throws AppError `api` if the line is cut. */
  readonly body: AsyncIterable<Uint8Array>;
  /** From now on the body may be silent for this long only. */
  readonly hasten?: (idleMs: number) => void;
}

export interface HttpTimers {
  readonly connectMs: number;
  readonly headersMs: number;
  readonly idleMs: number;
}

/**
 * Sends one request: no redirects followed, no retries. Throws AppError `api`, with `retry` where a second try may help.
 * Leaving the body early, or aborting, closes the connection.
 */
export type SendHttp = (request: HttpRequest, signal: AbortSignal) => Promise<HttpResponse>;
