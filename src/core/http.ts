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
