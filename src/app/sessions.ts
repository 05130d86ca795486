import type { History } from '../core/history.ts';
import type { Saving } from '../session/one-shot.ts';

/** The flags that say which session a run belongs to. */
export interface SessionOptions {
  readonly resume?: string;
  readonly continue?: boolean;
  readonly fork?: boolean;
  readonly sessionName?: string;
  readonly sessionId?: string;
  readonly noSession?: boolean;
  readonly demo?: boolean;
}

/** The flags that give a one-shot tools. */
export interface ToolChoice {
  readonly tools?: string;
  readonly mcpConfig?: unknown;
  readonly allowedMcpServerNames?: unknown;
}

/** The conversation of a run, and what becomes of it. */
export interface PromptHistory {
  readonly history: History;
  /** Of the session it is going to be saved as; undefined: it is not. */
  readonly sessionId?: string | undefined;
  /** Whether it is saved as it goes, and not only when it is over. */
  readonly isResumable?: boolean;
  /** What the person should know before the answer. */
  readonly notices: readonly string[];
  /** Saves what was said, if anything was. */
  save(): Promise<Saving>;
  /** Lets others have the session. */
  close(): Promise<void>;
}
