import type { Cell } from '../../core/text/frame.ts';

export type Entry =
  /** A whole entry, without its last newline; may have several lines. */
  | { readonly kind: 'text'; readonly text: string }
  /** Ctrl+D on an empty line, or the end of the pipe. */
  | { readonly kind: 'end' }
  /** Ctrl+C on an empty line, or twice in a row. */
  | { readonly kind: 'leave' }
  /** Shift+Tab: the next approval mode. What was typed stays. */
  | { readonly kind: 'next-mode' }
  /** Esc twice on an empty line: back to an earlier prompt. */
  | { readonly kind: 'rewind' };

export interface Candidate {
  readonly insert: string;
  /** Shown in the list instead of `insert`. Untrusted text, like `insert` and `hint`. */
  readonly label?: string;
  readonly hint?: string;
  /** With it the entry is complete: Enter chooses it and sends. */
  readonly isWhole?: true;
}

export interface Completion {
  readonly start: number;
  readonly candidates: readonly Candidate[];
}

/** Looks up completions. `before` is the text up to the caret. Never throws. */
export type Complete = (before: string, signal: AbortSignal) => Promise<Completion | undefined>;

export interface ReadOptions {
  readonly prompt: string;
  readonly draft?: string;
  /** Shown below the line until a key is pressed. Not in a pipe. */
  readonly notice?: string;
  /** The entry answers a question of gmn, and is not added to the entry history. */
  readonly isAnswer?: boolean;
  /** Called once, at the first key of the entry; never for a pipe. */
  readonly onFirstKey?: () => void;
}

export type Pasted = { readonly text: string } | { readonly notice: string };

export interface PickList {
  readonly title: string;
  readonly candidates: readonly Candidate[];
  readonly chosen?: number;
  /** Text that is typed does not narrow the list but closes it, and waits for `queueTypedKeys` or the next `read`. */
  readonly yieldsToText?: true;
}

/** The status, cut to at most this many columns. */
export type FitStatus = (columns: number) => string;

/** Rows at the bottom of the window, below what a turn shows. The cursor is at `caret`, if that is given. */
export interface Footer {
  set(rows: readonly string[], caret?: Cell): void;
}

export type CancelKey = 'escape' | 'ctrl-c';

export interface LineSource {
  readonly isTerminal: boolean;
  /**
   * The next entry, which is added to the entry history unless it answers a question. Keys typed since the last `read`
   * count as typed now, after `draft`. An empty line is an entry of a pipe, but not of a terminal. Rejects with the
   * reason of the signal the source was made with.
   */
  read(options: ReadOptions): Promise<Entry>;
  /** Shows an entry that was not typed as if it had been. Absent for a pipe. */
  readonly echo?: (prompt: string, text: string) => void;
  /**
   * Lets the user choose from a list, which is gone afterwards; undefined if they choose nothing. Absent where a list
   * cannot be drawn. Rejects like `read`.
   */
  readonly pick?: (list: PickList) => Promise<Candidate | undefined>;
  /**
   * During a turn: calls `onCancel` at each Esc and Ctrl+C. Other keys edit the line; Enter queues it for the next
   * `read`, and Up takes the last queued entry back. When the turn is cancelled, all of that is put into the line, and
   * nothing of it is sent. After Ctrl+C twice in a row, the next `read` gives `leave`. An entry for which `onEntry` returns true
   * is not queued. Call the returned function to stop; a Ctrl+C soon after that has no effect.
   */
  watch(onCancel: (key: CancelKey) => void, onEntry: (text: string) => boolean): () => void;
  /**
   * Shows what is typed and queued during a turn, and the status, in `footer`, until the returned function is called or
   * the watching stops. Absent where nothing can be drawn.
   */
  readonly showTypedKeys?: (footer: Footer) => () => void;
  /** Whether something was typed or queued since the last `read`. Absent: nothing can be. */
  readonly hasTyped?: () => boolean;
  /** Moves keys typed ahead into the line of the next `read`, so that none of them sends anything. */
  keepTypedKeys(): void;
  /** Moves them there as during a turn: Enter queues an entry for the next `read`. Absent: there are none. */
  readonly queueTypedKeys?: () => void;
  /** Lets other code read from the terminal, in its original mode, until `work` is done. Not during a `read`. */
  withTerminal<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Restores the terminal. Text typed but not sent is added to the entry history. */
  close(): Promise<void>;
}
