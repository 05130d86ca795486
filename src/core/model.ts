import type { Content } from './content.ts';
import type { TurnEvent } from './event.ts';
import type { JsonObject } from './json.ts';
import type { Usage } from './usage.ts';

/** What is sent for one reply, whichever backend carries it. */
export interface ModelRequest {
  readonly model: string;
  readonly contents: readonly Content[];
  readonly systemInstruction?: Content;
  readonly generationConfig: JsonObject;
}

/** What one model call may tell while it runs. */
export type ReplyEvent = Extract<TurnEvent, { type: 'wait' | 'begin' | 'text' | 'thought' | 'notice' }>;

/** A reply that came to its proper end: the server named a finish reason that counts as an answer. */
export interface Reply {
  readonly finishReason: string;
  readonly usage: Usage;
  /** The model that answered, as the server names it; the one asked for if it did not say. */
  readonly model: string;
}

/** A model that answers; the agent sees only this. */
export interface Model {
  /** Streams one reply. Throws AppError when there is none; what was shown until then stays shown. */
  stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ReplyEvent, Reply>;
}
