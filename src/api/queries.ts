import type { ModelRequest } from '../core/model.ts';
import type { ListedModel } from '../models/table.ts';

/** What the server says of the one who asks, for people. */
export interface Standing {
  /** Sentences, the most telling first. */
  readonly lines: readonly string[];
}

export interface EmbedRequest {
  readonly model: string;
  readonly text: string;
}

/**
 * What a backend can be asked besides model calls: how long a request is, which models there are, how one stands with it.
 * Every method throws AppError `auth` or `api`.
 */
export interface Inquiries {
  /** How many tokens a request is. */
  countTokens(request: ModelRequest, signal: AbortSignal): Promise<number>;
  /** The models this credential is offered. */
  listModels(signal: AbortSignal): Promise<readonly ListedModel[]>;
  /** The vector that stands for a text. Throws AppError `usage` where there are none to be had. */
  embed(request: EmbedRequest, signal: AbortSignal): Promise<readonly number[]>;
  /** Whether the credential works here, and what is left for it. */
  standing(signal: AbortSignal): Promise<Standing>;
}
