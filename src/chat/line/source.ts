/** What a person, or a pipe, hands to the chat. */
export type Entry =
  /** A whole entry, without its last newline; several lines if it was typed or pasted so. */
  | { readonly kind: 'text'; readonly text: string }
  /** Ctrl+D on an empty line, or the end of the pipe. */
  | { readonly kind: 'end' }
  /** Ctrl+C on an empty line, or twice in a row. */
  | { readonly kind: 'leave' }
  /** Shift+Tab: the next approval mode. What was typed stays. */
  | { readonly kind: 'next-mode' };

/** One way in which a word could go on. */
export interface Candidate {
  /** What takes the place of the word. */
  readonly insert: string;
  /** A few words about it, shown beside it. Untrusted text. */
  readonly hint?: string;
}

/** What the text from `start` up to the caret could become. */
export interface Completion {
  readonly start: number;
  readonly candidates: readonly Candidate[];
}

/** Looks up completions. `before` is the text up to the caret. Does not throw. */
export type Complete = (before: string, signal: AbortSignal) => Promise<Completion | undefined>;

/** Where entries come from: the line editor of a terminal, or the lines of a pipe. */
export interface LineSource {
  /** Whether a person sits there. */
  readonly isTerminal: boolean;
  /**
   * The next entry. What was typed while nobody read counts as typed now, behind `draft`. An empty line is no entry of a
   * terminal, but one of a pipe. Rejects with the reason of the signal the source was made with.
   */
  read(options: { readonly prompt: string; readonly draft?: string }): Promise<Entry>;
  /**
   * While a turn runs: calls `onCancel` at each Esc and Ctrl+C, and keeps what else is typed for the next `read`. What was
   * typed before such a key stands in the line then, and nothing of it is sent. After Ctrl+C twice in a row, the next `read`
   * is a `leave`. The returned function ends that.
   */
  watch(onCancel: () => void): () => void;
  /** Writes what was typed and not read yet into the line of the next `read`: nothing of it is sent. */
  putDown(): void;
  /** Lets somebody else read from the terminal, with its modes as they were before us, until `work` is done. Not during a `read`. */
  lend<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Gives the terminal back as it was. What was typed and not sent is found among the earlier entries of the next chat. */
  close(): Promise<void>;
}
