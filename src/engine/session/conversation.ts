import { createMemoryHistory } from '../../agent/agent.ts';
import type { History } from '../../core/history.ts';
import type { KeptSetup } from '../../core/session.ts';
import { NOT_SAVED, type SaveResult } from '../../session/one-shot.ts';

/** Where the turns of a run are kept. */
export interface Conversation {
  readonly history: History;
  /** The id it will be saved under; absent if it is not saved. */
  readonly sessionId?: string;
  /** Whether it can be resumed as soon as a turn has begun. */
  readonly isResumable?: boolean;
  /** Takes how this turn asks; saved with the prompt, as far as later turns keep it. */
  keepSetup?(asked: KeptSetup): void;
  /** Called once, when a turn is over. Never throws. */
  save(): Promise<SaveResult>;
}

export interface OpenedConversation extends Conversation {
  readonly setup?: KeptSetup;
  close(): Promise<void>;
}

export interface SessionOptions {
  /** Empty: one that the person chooses. */
  readonly resume?: string;
  readonly continue?: boolean;
  readonly fork?: boolean;
  readonly sessionName?: string;
  readonly sessionId?: string;
  readonly noSession?: boolean;
  readonly demo?: boolean;
}

export interface ToolChoice {
  readonly tools?: string;
  readonly ownTools?: readonly unknown[];
  readonly mcpConfig?: unknown;
  readonly allowedMcpServerNames?: unknown;
}

export function hasTools({ tools = 'none', ownTools = [], mcpConfig, allowedMcpServerNames }: ToolChoice): boolean {
  return tools !== 'none' || ownTools.length > 0 || mcpConfig !== undefined || allowedMcpServerNames !== undefined;
}

export function createUnsavedConversation(...earlier: Parameters<typeof createMemoryHistory>): OpenedConversation {
  return { history: createMemoryHistory(...earlier), save: async () => NOT_SAVED, close: async () => {} };
}
