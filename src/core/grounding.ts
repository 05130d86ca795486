import type { Source } from './event.ts';
import type { Usage } from './usage.ts';

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
