import type { JsonObject } from '../../../core/json.ts';
import type { Answer } from '../turn.ts';

export type TextAnswer = Pick<Answer, 'text' | 'model' | 'usage' | 'finishReason' | 'sources' | 'notices'>;

/** What callers are told about an answer besides its text. */
export function metadataOf({ model, usage, finishReason, sources }: TextAnswer): JsonObject {
  const { totalTokenCount } = usage;
  return {
    model,
    ...(totalTokenCount === undefined ? {} : { tokensUsed: totalTokenCount }),
    finishReason,
    usage: { ...usage },
    ...(sources === undefined ? {} : { grounding: { sources: sources.map((source) => ({ ...source })) } }),
  };
}

type Given<Values> = { readonly [Key in keyof Values]?: Exclude<Values[Key], undefined> };

/** The same without what is undefined. */
export function given<Values extends object>(values: Values): Given<Values> {
  return parseGiven(Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)));
}

function parseGiven<Values>(values: object): Given<Values> {
  return values as Given<Values>;
}
