import type { StoredContent } from '../core/content.ts';
import type { AppError } from '../core/error.ts';
import type { TurnEvent } from '../core/event.ts';
import type { Compaction, History } from '../core/history.ts';
import type { JsonObject } from '../core/json.ts';
import type { Model, ModelRequest, Reply } from '../core/model.ts';
import type { Approve, Tool, ToolResult } from '../core/tool.ts';

export interface Agent {
  readonly model: Model;
  /** The fields common to every request; its `tools` are the service's own. */
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
  /** Lets keys, signals and timers have their turn between slices of long work. Absent: it is done in one. */
  readonly pause?: () => Promise<void>;
  /** Finds the context files for a path that a call used, except those that were sent. Absent: there are none to find. */
  readonly findNestedContext?: (
    path: string,
    isSent: (path: string) => boolean,
  ) => Promise<{
    readonly files: readonly { readonly path: string; readonly content: string }[];
    readonly notices: readonly string[];
  }>;
  /** When to make room in the model's window. Absent: never. */
  readonly compaction?: CompactionPolicy;
  /** Absent: no tool reads files. */
  readonly outputs?: OutputFiles;
  /** What the user's hooks say. Absent: there are none. */
  readonly hooks?: AgentHooks;
  /** Keeps gmn's own credentials out of what is sent and saved. Absent: nothing to redact. */
  readonly redaction?: Redaction;
}

/** Each throws the signal's reason; the first also AppError `limit`, if a hook ends the run. */
export interface AgentHooks {
  /** Before it is decided about a call. */
  beforeTool(tool: Tool, args: JsonObject, signal: AbortSignal): Promise<HookedCall>;
  /** The result as the hooks leave it; `ending`: the turn ends once it is in the history. */
  afterTool(
    tool: Tool,
    args: JsonObject,
    result: ToolResult,
    signal: AbortSignal,
  ): Promise<{ readonly result: ToolResult; readonly ending?: AppError }>;
  /** Right before a call runs; `isUnasked`: nobody was asked about it. */
  noteRun(tool: Tool, isUnasked: boolean): void;
  beforeSummary(trigger: 'auto' | 'manual', signal: AbortSignal): Promise<void>;
}

export interface HookedCall {
  /** Why it must not run, for the model; the user has been told. */
  readonly denial?: string;
  /** In place of the model's. */
  readonly args?: JsonObject;
  /** A person has to be asked, whatever is allowed. */
  readonly mustAsk?: true;
  /** What the model gets beside the result. */
  readonly context?: string;
}

export interface CompactionPolicy {
  /** Undefined if not known. A turn lowers it when the server refuses a request and tells its limit. */
  windowTokens: number | undefined;
  /** The share of the window that a request may fill. */
  readonly threshold: number;
}

/** Files with long outputs that the tools may read although they are outside the workspace. */
export interface OutputFiles {
  /** Writes a text with `store`, by default to a file of this process; undefined if that fails. */
  keep(text: string, store?: History['keepOutput']): Promise<string | undefined>;
  allow(paths: readonly string[]): void;
}

export interface Redaction {
  /** Replaces each credential with a mark; returns the same object if there is none. */
  redact<Value>(value: Value): Promise<Value>;
  writesMark(args: JsonObject): boolean;
}

export interface Turn {
  readonly history: History;
  readonly prompt: StoredContent;
  readonly signal: AbortSignal;
  /** Tokens of the conversation before the prompt, if the server has counted them. */
  readonly tokensBefore?: number;
  /** Shared by all rounds and sub-agents of a prompt. Absent: of this turn alone. */
  readonly count?: PromptCount;
  /** What is called before the model is asked, because the user has asked for it. */
  readonly firstCall?: { readonly name: string; readonly args: JsonObject };
}

/** What a prompt has asked of the model and of the tools so far, its sub-agents included. */
export class PromptCount {
  turns = 0;
  calls = 0;
  requests = 0;
  /** Model turns. */
  readonly limit: number;
  readonly #notify: (message: string) => void;

  constructor(limit: number, notify: (message: string) => void = () => {}) {
    this.limit = limit;
    this.#notify = notify;
  }

  /** Retries are requests, too. */
  readonly onRequest = (): void => {
    this.requests += 1;
    if (this.requests === MANY_REQUESTS)
      this.#notify(`${MANY_REQUESTS} requests so far for this prompt; --max-turns and --max-cost set limits`);
  };
}

const MANY_REQUESTS = 100;

export type RunTurn = (agent: Agent, turn: Turn) => AsyncGenerator<TurnEvent, void>;

interface MemoryOptions {
  readonly keepsReplies?: boolean;
  readonly earlier?: readonly StoredContent[];
  readonly compacted?: readonly Compaction[];
}

export function createMemoryHistory(options: MemoryOptions = {}): History {
  const { keepsReplies = false, earlier = [], compacted = [] } = options;
  const contents = [...earlier];
  const compactions = [...compacted];
  return {
    contents,
    compactions,
    compact: async (compaction) => void compactions.push(compaction),
    replyLimit: keepsReplies ? Number.POSITIVE_INFINITY : 0,
    append: async ({ content }) => void contents.push(content),
  };
}
