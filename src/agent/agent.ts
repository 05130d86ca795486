import type { Content, KeptContent } from '../core/content.ts';
import type { History } from '../core/history.ts';
import type { JsonObject } from '../core/json.ts';
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
  /** Keeps what must not be said out of what is sent and saved. Absent: there is no such thing. */
  readonly withholding?: Withholding;
}

/** Credentials of our own, in what somebody hands over or a tool has found. */
export interface Withholding {
  /** The value with a mark in the place of each; the very value if there is none in it. */
  conceal<Value>(value: Value): Promise<Value>;
  /** Whether a call would write such a mark although the model never saw what it stands for. */
  writesMark(args: JsonObject): boolean;
}

/** One prompt, and the conversation it belongs to. */
export interface Turn {
  readonly history: History;
  readonly prompt: Content;
  /** Its reason is an AppError. */
  readonly signal: AbortSignal;
}

interface MemoryOptions {
  readonly keepsReplies?: boolean;
  readonly earlier?: readonly KeptContent[];
}

/** A conversation that lasts as long as the process, going on from `earlier`. Keeps no replies unless told to. */
export function memoryHistory({ keepsReplies = false, earlier = [] }: MemoryOptions = {}): History {
  const contents = [...earlier];
  return {
    contents,
    replyLimit: keepsReplies ? Number.POSITIVE_INFINITY : 0,
    append: async ({ content }) => void contents.push(content),
  };
}
