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
