import type { Content } from '../core/content.ts';
import type { History } from '../core/history.ts';
import type { Model, ModelRequest } from '../core/model.ts';
import type { Approve, Tool } from '../core/tool.ts';

/** Who answers a turn, with what, and how far it may go. */
export interface Agent {
  readonly model: Model;
  /** What is the same in every request; its `tools` count only if there are no `tools` here. */
  readonly request: Omit<ModelRequest, 'contents' | 'keepLimit'>;
  /** Who signs what the model says: backend and account in one word. Asked when there is something to sign. */
  readonly origin: () => string;
  /** In the order in which they are declared; none: the model is offered none. */
  readonly tools: readonly Tool[];
  /** Tools that are not offered, and may be called all the same: whoever approves says why not. None unless given. */
  readonly withheld?: readonly Tool[];
  readonly approve: Approve;
  /** How many replies one turn may take. */
  readonly maxTurns: number;
}

/** One prompt, and the conversation it belongs to. */
export interface Turn {
  readonly history: History;
  readonly prompt: Content;
  /** Its reason is an AppError. */
  readonly signal: AbortSignal;
}
