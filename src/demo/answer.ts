import type { JsonObject } from '../core/json.ts';

export interface Chunk {
  readonly parts: readonly JsonObject[];
  readonly pauseMs?: number;
}

export interface Answer {
  /** Generated while it is sent, so that a long answer needs no memory. */
  readonly chunks: Iterable<Chunk>;
  /** What the model thinks before it answers; absent: one short thought, at once. */
  readonly thoughts?: readonly (readonly [subject: string, rest: string])[];
  /** Fixed for the sample runs; absent: estimated. */
  readonly usage?: readonly [prompt: number, candidates: number];
  readonly isCountedLate?: true;
  /** For answers whose length is the point: `maxOutputTokens` is not applied. */
  readonly isUnlimited?: true;
}
