export type Entry =
  /** A whole entry, without its last newline; may have several lines. */
  | { readonly kind: 'text'; readonly text: string }
  /** Ctrl+D on an empty line, or the end of the pipe. */
  | { readonly kind: 'end' }
  /** Ctrl+C on an empty line, or twice in a row. */
  | { readonly kind: 'leave' }
  /** Shift+Tab: the next approval mode. What was typed stays. */
  | { readonly kind: 'next-mode' };

export interface Candidate {
  readonly insert: string;
  /** A short description shown beside it. Untrusted text. */
  readonly hint?: string;
}

/** Candidates for the text from `start` up to the caret. */
export interface Completion {
  readonly start: number;
  readonly candidates: readonly Candidate[];
}

/** Looks up completions. `before` is the text up to the caret. Never throws. */
export type Complete = (before: string, signal: AbortSignal) => Promise<Completion | undefined>;

export interface ReadOptions {
  readonly prompt: string;
  readonly draft?: string;
  /** Called once, when the first key of the entry is there. A pipe has no keys. */
  readonly onFirstKey?: () => void;
}

/** Where entries come from: the line editor of a terminal, or the lines of a pipe. */
export interface LineSource {
  readonly isTerminal: boolean;
  /**
   * The next entry. Keys typed since the last `read` count as typed now, after `draft`. An empty line is an entry of a
   * pipe, but not of a terminal. Rejects with the reason of the signal the source was made with.
   */
  read(options: ReadOptions): Promise<Entry>;
  /**
   * During a turn: calls `onCancel` at each Esc and Ctrl+C, and keeps other keys for the next `read`. Text typed before
   * such a key is put into the line, and nothing of it is sent. After Ctrl+C twice in a row, the next `read` gives
   * `leave`. Call the returned function to stop.
   */
  watch(onCancel: () => void): () => void;
  /** Moves keys typed ahead into the line of the next `read`, so that none of them sends anything. */
  keepTypedKeys(): void;
  /** Lets other code read from the terminal, in its original mode, until `work` is done. Not during a `read`. */
  withTerminal<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Restores the terminal. Text typed but not sent is added to the entry history. */
  close(): Promise<void>;
}
