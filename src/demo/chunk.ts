import type { JsonObject } from '../core/json.ts';

/** A piece of an answer as the model lets it go. */
export interface Chunk {
  readonly parts: readonly JsonObject[];
  /** Thinking time before this piece. */
  readonly pauseMs?: number;
}

/** What the demo model has to say to one request. */
export interface Answer {
  /** Made while it is sent, so that a long answer needs no memory. */
  readonly chunks: Iterable<Chunk>;
  /** Tokens of prompt and answer where the sample runs fix them; else both are estimated. */
  readonly usage?: readonly [prompt: number, candidates: number];
  /** Counts come with the last piece only, as if the server were in no hurry to tell. */
  readonly isCountedLate?: true;
  /** For answers whose length is their point: `maxOutputTokens` is not applied. */
  readonly isUnlimited?: true;
}

/** An answer of these texts, one per chunk. */
export function say(texts: readonly string[], usage?: Answer['usage']): Answer {
  const chunks = texts.map((text) => ({ parts: [{ text }] }));
  return usage === undefined ? { chunks } : { chunks, usage };
}

/** An answer of one text, cut between characters into pieces that grow. */
export function sayAll(text: string): Answer {
  return say([...pieces(text.toWellFormed())]);
}

function* pieces(text: string): Generator<string> {
  let piece = '';
  let size = 0;
  let wanted = 8;
  for (const character of text) {
    piece += character;
    size += 1;
    if (size < wanted) continue;
    yield piece;
    piece = '';
    size = 0;
    wanted = Math.min(wanted * 2, 4096);
  }
  if (piece !== '') yield piece;
}
