export interface Out {
  /** Resolves when there is room for more. Rejects with fault `pipe` once the reader is gone, else with `internal`. */
  write(chunk: string): Promise<void>;
  /** Resolves when all that was written has left gmn, however long a reader takes. Absent: it leaves at once. Rejects as `write`. */
  flush?(): Promise<void>;
  readonly isTerminal: boolean;
  readonly columns: number;
  /** Height in rows. Absent: nothing can be drawn here, because the text does not go directly to the window. */
  readonly rows?: number;
  readonly isStyled: boolean;
  /** Whether it is a terminal that is known to show hyperlinks (OSC 8). */
  readonly hasLinks?: boolean;
  onResize?(listener: () => void): () => void;
  /** `leave` is called before a suspension (Ctrl+Z), `enter` after it, when the screen may show anything. */
  onSuspend?(leave: () => void, enter: () => void): () => void;
  /** The spinners and live rows drawn here now. Absent: none is ever drawn, or they need not be hidden. */
  readonly spinners?: Set<Spinner>;
}

/** The same output with other members. What is not changed keeps its current value, as the size of a window. */
export function wrapOut<Wrapped extends Out>(
  out: Wrapped,
  changes: { readonly [Name in keyof Wrapped]?: Wrapped[Name] | undefined },
): Wrapped {
  return Object.create(out, Object.getOwnPropertyDescriptors(changes));
}

/** Takes from an output what redraws: it gets one piece of text after the other. */
export const NEVER_REDRAWN = {
  hasLinks: false,
  onResize: undefined,
  onSuspend: undefined,
  spinners: undefined,
} as const;

export interface Spinner {
  hide(): Promise<void> | undefined;
  show(): void;
  /** Shows `text` beside what is awaited. Untrusted text. */
  setNote(text: string): void;
  /** Shows the end of what a running command prints below what is awaited. Untrusted text. */
  addOutput?(text: string): void;
}

export interface Io {
  readonly out: Out;
  /** For messages to the user. Never rejects: an unreadable stderr is no reason to fail. */
  readonly err: Out;
}

/** What stdin is. `none`: a terminal, another character device, or closed. */
export type StdinKind = 'none' | 'file' | 'pipe' | 'socket' | 'directory';

export interface Stdin {
  kind(): StdinKind;
  isTerminal(): Promise<boolean>;
  /** Leaving the iteration, or aborting, releases the descriptor: the process can exit. Throws AppError `usage`. */
  read(signal: AbortSignal): AsyncIterableIterator<Uint8Array, void>;
}

export const NO_STDIN: Stdin = {
  kind: () => 'none',
  isTerminal: async () => false,
  read: async function* () {},
};

/** stdout that is reserved for a protocol. */
export interface ClaimedStdout {
  /** Resolves when there is room for more. Rejects with fault `pipe` once nobody reads. */
  write(text: string): Promise<void>;
  ready(): Promise<void>;
  readonly gone: Promise<void>;
}

export type Env = Readonly<Record<string, string | undefined>>;

/** A longer wait is said, wherever the output goes. */
export const SAID_MS = 10_000;

export interface Clock {
  now(): number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** Whether the work ends within `ms`; an abort ends the wait. Rejects as the work does. */
export async function settlesWithin(
  work: Promise<unknown>,
  ms: number,
  clock: Pick<Clock, 'sleep'>,
  signal?: AbortSignal,
): Promise<boolean> {
  const done = new AbortController();
  const timer = clock.sleep(ms, signal === undefined ? done.signal : AbortSignal.any([signal, done.signal]));
  const isLate = (): false => false;
  try {
    return await Promise.race([work.then(() => true), timer.then(isLate, isLate)]);
  } finally {
    done.abort();
  }
}

export interface Ticker {
  every(ms: number, action: () => void): () => void;
}

/** Writes one line of the `--debug` trace, redacted. A no-op unless `--debug` or `--debug-file` was given. */
export type Trace = (line: string) => void;

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Bytes must not change until the response, or the failure, has arrived. */
  readonly body?: string | Uint8Array;
  /**
   * Whether sending it twice does no harm; only a GET by default. It may then use a kept connection, and is sent again on a new
   * one if that was dead, which means that it failed before the first byte of the response. All others get a new connection.
   */
  readonly isRepeatable?: boolean;
  /**
   * Whether it may use a kept connection although it is not repeated: for a request right after another one, whose response has
   * shown that the connection is alive, if the sender can find out whether a failed request had an effect.
   */
  readonly mayReuse?: boolean;
  /** In place of the client's own. */
  readonly timers?: Partial<HttpTimers>;
  /** The path and the query are a secret: a trace shows only the host. */
  readonly isSecret?: true;
  readonly onSent?: () => void;
  /** Called with the number of bytes of a long body that have been handed to the system so far. */
  readonly onProgress?: (bytes: number) => void;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The bytes as they arrive, decompressed (gzip, br, deflate). Throws AppError `api` if the connection is lost. */
  readonly body: HttpBody;
  readonly setIdleTimeout?: (idleMs: number) => void;
}

export type HttpBody = AsyncIterable<Uint8Array>;

export async function closeBody(body: HttpBody): Promise<void> {
  await body[Symbol.asyncIterator]().return?.();
}

export interface HttpTimers {
  readonly connectMs: number;
  readonly headersMs: number;
  readonly idleMs: number;
}

/**
 * Sends one request: follows no redirects, and repeats only what `isRepeatable` allows. Throws AppError `api`, with
 * `retry` where another attempt may help. A connection whose response was read to its end is kept for a while; leaving
 * the body early, or aborting, closes it.
 */
export type SendHttp = (request: HttpRequest, signal: AbortSignal) => Promise<HttpResponse>;
