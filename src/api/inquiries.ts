import type { ModelRequest } from '../core/model.ts';

/** A model as a server lists it. */
export interface ListedModel {
  /** Without a prefix. */
  readonly id: string;
  readonly inputLimit?: number;
  readonly outputLimit?: number;
  readonly thinks?: boolean;
}

/** What the server says of the one who asks, for people. */
export interface Standing {
  /** Sentences, the most telling first. */
  readonly lines: readonly string[];
}

/** What a backend answers besides model calls. Every method throws AppError `auth` or `api`. */
export interface Service {
  /** How many tokens a request is. */
  countTokens(request: ModelRequest, signal: AbortSignal): Promise<number>;
  /** The models this credential is offered. */
  listModels(signal: AbortSignal): Promise<readonly ListedModel[]>;
  /** Whether the credential works here, and what is left for it. */
  standing(signal: AbortSignal): Promise<Standing>;
}
