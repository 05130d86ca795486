import type { MediaPart } from './content.ts';
import type { JsonObject } from './json.ts';
import type { Usage } from './usage.ts';

/** What a tool may do. Approval depends on this alone and is never decided inside a tool. */
export type Effect = 'read' | 'write' | 'execute' | 'network';

export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly effect: Effect;
  /** JSON Schema, as the model sees it. */
  readonly input: JsonObject;
  /**
   * What a person is asked to approve, made from the very arguments that `invoke` will get. Absent: name and arguments
   * are shown. May refuse, with the outcome the model gets, if the call cannot succeed anyway; nobody is asked then.
   * With a draft, the call is previewed on the files as the draft has them, and adds what it would write.
   */
  preview?(args: JsonObject, signal: AbortSignal, draft?: Draft): Promise<Preview | ToolResult>;
  /** The arguments in one form for all that mean the same, to tell whether a call was made before. Absent: as they are. */
  plain?(args: JsonObject): JsonObject;
  /** A failure is data for the model (`ok: false`); throws only the signal's reason, or a bug. */
  invoke(args: JsonObject, signal: AbortSignal): Promise<ToolResult>;
}

/** What files would hold once the calls that were previewed so far have run, by real path. The disk is not touched. */
export type Draft = Map<string, Uint8Array>;

/** What the person sees before saying yes. Untrusted text: whoever shows it makes control characters visible. */
export type Preview =
  | {
      readonly kind: 'diff';
      readonly path: string;
      readonly diff: string;
      readonly added: number;
      readonly removed: number;
    }
  | { readonly kind: 'command'; readonly command: string; readonly directory: string }
  | { readonly kind: 'text'; readonly text: string };

/** `response` is sent to the model unchanged, `media` next to it. */
export interface ToolResult {
  readonly ok: boolean;
  readonly response: JsonObject;
  readonly media?: readonly MediaPart[];
  /** What the tool's own requests cost. */
  readonly usage?: Usage;
  /** How many lines of a file came and went, if it wrote one. For the person; the model does not get it. */
  readonly change?: FileChange;
}

interface FileChange extends LineCounts {
  /** How many hard links of the file still have the old content. */
  readonly cutLinks?: number;
}

export interface LineCounts {
  readonly added: number;
  readonly removed: number;
}

/** A call by the model, with an id of ours if it gave none. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly args: JsonObject;
}

/** Whether a call may run; `stop` ends the turn. */
export type CallDecision =
  | { readonly kind: 'run' }
  | { readonly kind: 'run-edited'; readonly args: JsonObject }
  | { readonly kind: 'deny'; readonly reason: string }
  | { readonly kind: 'stop' };

export interface PendingCall {
  readonly tool: Tool;
  readonly call: ToolCall;
}

export interface ApproveContext {
  readonly signal: AbortSignal;
  /**
   * For a call that writes: the calls directly after it in the same reply that write, too. One answer may cover them
   * all.
   */
  readonly following?: readonly PendingCall[];
}

/**
 * Decides about one call at a time; asks the user if the approval mode requires it and the run is interactive. Never
 * throws.
 */
export type Approve = (tool: Tool, call: ToolCall, context: ApproveContext) => Promise<CallDecision>;
