import type { Content, StoredContent } from '../core/content.ts';
import type { TurnEvent } from '../core/event.ts';
import type { History } from '../core/history.ts';
import type { JsonObject } from '../core/json.ts';
import type { Model, ModelRequest, Reply } from '../core/model.ts';
import type { Approve, Tool } from '../core/tool.ts';

export interface Agent {
  readonly model: Model;
  /** The fields common to every request; its `tools` are used only if the agent has none. */
  readonly request: Omit<ModelRequest, 'contents' | 'keepLimit'>;
  /** Backend and account that sign the model's parts, as one string. Called only when there is a signature. */
  readonly origin: () => string;
  readonly tools: readonly Tool[];
  /** Tools that are not declared but may still be called: `approve` then says why they are denied. None by default. */
  readonly withheld?: readonly Tool[];
  readonly approve: Approve;
  readonly maxTurns: number;
  readonly onReply?: (reply: Pick<Reply, 'usage' | 'promptTokens'>) => void;
  /** The time in milliseconds. Absent: calls are not timed. */
  readonly now?: () => number;
  /** Finds the context files for a path that a call used, except those that were sent. Absent: there are none to find. */
  readonly findNestedContext?: (
    path: string,
    isSent: (path: string) => boolean,
  ) => Promise<{
    readonly files: readonly { readonly path: string; readonly content: string }[];
    readonly notices: readonly string[];
  }>;
  /** Keeps gmn's own credentials out of what is sent and saved. Absent: nothing to redact. */
  readonly redaction?: Redaction;
}

export interface Redaction {
  /** Replaces each credential with a mark; returns the same object if there is none. */
  redact<Value>(value: Value): Promise<Value>;
  /** Whether a call would write such a mark over a credential that the model never saw. */
  writesMark(args: JsonObject): boolean;
}

export interface Turn {
  readonly history: History;
  readonly prompt: Content;
  readonly signal: AbortSignal;
  /** Model calls that count against the agent's limit already. */
  readonly repliesBefore?: number;
}

/** Yields what happens, `end` last. */
export type RunTurn = (agent: Agent, turn: Turn) => AsyncGenerator<TurnEvent, void>;

interface MemoryOptions {
  readonly keepsReplies?: boolean;
  readonly earlier?: readonly StoredContent[];
}

/** A conversation in memory, continuing from `earlier`. Does not keep replies by default. */
export function createMemoryHistory({ keepsReplies = false, earlier = [] }: MemoryOptions = {}): History {
  const contents = [...earlier];
  return {
    contents,
    replyLimit: keepsReplies ? Number.POSITIVE_INFINITY : 0,
    append: async ({ content }) => void contents.push(content),
  };
}
