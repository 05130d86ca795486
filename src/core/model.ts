import type { Content } from './content.ts';
import type { Source, TurnEvent } from './event.ts';
import type { JsonObject } from './json.ts';
import type { ToolCall } from './tool.ts';
import type { Usage } from './usage.ts';

/** What is sent for one reply, whichever backend carries it. */
export interface ModelRequest {
  readonly model: string;
  readonly contents: readonly Content[];
  readonly systemInstruction?: Content;
  readonly generationConfig: JsonObject;
  /** As the API takes them: `{ functionDeclarations: […] }`, `{ googleSearch: {} }`. With declarations, calls are answers. */
  readonly tools?: readonly JsonObject[];
  /** As the API takes them: `{ category, threshold }`. Absent: the service's own. */
  readonly safetySettings?: readonly JsonObject[];
  /**
   * Up to how many characters of text `Reply.content` is wanted. A longer reply without calls comes without it; absent, or 0:
   * every one does, and none is held in memory as a whole.
   */
  readonly keepLimit?: number;
}

/** What one model call may tell while it runs. */
export type ReplyEvent = Extract<TurnEvent, { type: 'wait' | 'begin' | 'text' | 'thought' | 'notice' }>;

/** A reply that came to its proper end: the server named a finish reason that counts as an answer. */
export interface Reply {
  readonly finishReason: string;
  readonly usage: Usage;
  /** The model that answered, as the server names it; the one asked for if it did not say. */
  readonly model: string;
  /** What the model said, its parts exactly as they came, plain neighbours joined. Only within the request's `keepLimit`. */
  readonly content?: Content;
  /** In the order of their parts. Absent: none. */
  readonly calls?: readonly ReplyCall[];
  /** `groundingMetadata`, where the model searched. */
  readonly grounding?: JsonObject;
}

/** A call as a model made it; its `id` is the only one of that name in the run. */
export interface ReplyCall extends ToolCall {
  /** The id the model gave it, which its answer must carry. Absent: it gave none. */
  readonly givenId?: string;
  /** Why it cannot run as it came, in words for the model; `args` are then not the model's. */
  readonly fault?: string;
}

/** A model that answers; the agent sees only this. */
export interface Model {
  /** Streams one reply. Throws AppError when there is none; what was shown until then stays shown. */
  stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ReplyEvent, Reply>;
}

/** What a search on the web gave. */
export interface Grounded {
  /** The model's summary, with `[1]` and the like where a source supports it. */
  readonly text: string;
  /** `[1]` is the first. */
  readonly sources: readonly Source[];
  /** What the request has cost. */
  readonly usage: Usage;
}

/** Searches the web through the model. Throws what the model throws. */
export type Ground = (query: string, signal: AbortSignal) => Promise<Grounded>;
