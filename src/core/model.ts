import type { Content } from './content.ts';
import type { AnswerFile, PageStep, Source, TurnEvent } from './event.ts';
import type { JsonObject } from './json.ts';
import type { ToolCall } from './tool.ts';
import type { Usage, UsageDetails } from './usage.ts';

/** From the least to the most; which of them there are depends on the model. */
export const THINKING_LEVELS = ['minimal', 'low', 'medium', 'high', 'xhigh'] as const;

export type ThinkingLevel = (typeof THINKING_LEVELS)[number];

export interface ModelRequest {
  readonly model: string;
  readonly contents: readonly Content[];
  readonly systemInstruction?: Content;
  readonly generationConfig: JsonObject;
  /** As the API takes them. With `functionDeclarations`, a reply may consist of calls. */
  readonly tools?: readonly JsonObject[];
  /** As the API takes them: `{ category, threshold }`. Absent: the service's defaults. */
  readonly safetySettings?: readonly JsonObject[];
  readonly toolConfig?: JsonObject;
  readonly serviceTier?: ServiceTier;
  /** How many characters of text to keep in `Reply.content`; a longer reply without calls has none. Absent: 0. */
  readonly keepLimit?: number;
  /** From an earlier answer to the same request: the service continues where that answer ended. */
  readonly continuationToken?: string;
}

/** `flex` is cheaper and slower, `priority` more expensive and faster. */
export type ServiceTier = 'flex' | 'priority';

export type ReplyEvent = Extract<TurnEvent, { type: 'wait' | 'begin' | 'text' | 'thought' | 'service' | 'notice' }>;

/** A complete reply: the server gave a finish reason that counts as an answer. */
export interface Reply {
  readonly finishReason: string;
  readonly usage: Usage;
  /** Tokens of the request, if `usage` counts more than once what was read: over several connections, or continued by the service. */
  readonly promptTokens?: number;
  /** Which of the tokens are not text; absent if all are, or the server did not say. */
  readonly details?: UsageDetails;
  /** The model that answered, as the server names it; the requested one if the server did not say. */
  readonly model: string;
  /** The model's parts as they came, with adjacent plain texts joined. Absent if longer than the request's `keepLimit`. */
  readonly content?: Content;
  readonly calls?: readonly ReplyCall[];
  readonly grounding?: JsonObject;
  /** Published texts that the answer repeats, as the API names them: `{ uri, title, license }`. */
  readonly citations?: readonly JsonObject[];
  readonly files?: readonly AnswerFile[];
  readonly pages?: readonly PageStep[];
  /** As the service says, else the one asked for. Absent if that is the standard tier and none was asked for. */
  readonly serviceTier?: string;
}

/** What the service counted for one request, whether or not its answer can be used. */
export type CountedCall = Pick<Reply, 'model' | 'usage' | 'details' | 'serviceTier'>;

/** What may be spent: every request that costs tokens is admitted before it is sent. */
export interface SpendingLimit {
  /** Waits while others have reserved what it needs. Throws AppError `limit` if what is left buys no useful answer. */
  admit(request: ModelRequest, signal: AbortSignal): Promise<AdmittedRequest>;
}

export interface AdmittedRequest {
  readonly request: ModelRequest;
  /** Says that the answer had to be shorter, if it ends at its token limit. */
  readonly notice?: string;
  /** Called once, when it has ended. `mayCost`: without a count, whether the service may have read the prompt. */
  settle(counted: CountedCall | undefined, mayCost: boolean): void;
}

export interface ReplyCall extends ToolCall {
  /** The id the model gave it, which the response must repeat. Absent: it gave none. */
  readonly givenId?: string;
  /** Why it cannot run, as a message for the model; `args` are then not the model's. */
  readonly fault?: string;
}

export interface Model {
  /** Throws AppError; deltas already yielded stay valid. */
  stream(request: ModelRequest, signal: AbortSignal, watch?: RequestWatch): AsyncGenerator<ReplyEvent, Reply>;
}

/** Follows the requests of one reply: the first one, retries, resumptions, and those to other models. */
export interface RequestWatch {
  /** Called before each is sent. */
  onRequest?(): void;
  /** Gets the counts of each, failed or not. */
  onCall?(call: CountedCall): void;
}

export interface GroundedAnswer {
  /** The model's summary, with `[1]` and the like where a source supports it. */
  readonly text: string;
  readonly sources: readonly Source[];
  readonly usage: Usage;
}

export type Ground = (query: string, signal: AbortSignal) => Promise<GroundedAnswer>;
