import type { AppError } from '../../../core/error.ts';
import type { JsonObject } from '../../../core/json.ts';
import { formatFailure } from '../errors.ts';
import type { Pages } from '../pages.ts';
import type { CallResult } from '../tool.ts';
import type { Answer } from '../turn.ts';

export function plainFailure(error: AppError): CallResult {
  return { content: [{ type: 'text', text: formatFailure(error) }], isError: true };
}

export interface PlainAnswer {
  readonly text: string;
  readonly refused?: readonly string[];
  readonly notices?: readonly string[];
  readonly metadata?: JsonObject;
  readonly meta?: JsonObject;
}

/** The first page as text; `_meta.next` is the URI of the second. */
export function plainResult(
  pages: Pages,
  { text, refused = [], notices = [], metadata, meta = {} }: PlainAnswer,
): CallResult {
  const { text: first, next } = pages.split(text);
  const _meta = {
    ...meta,
    ...metadata,
    ...(refused.length === 0 ? {} : { refused }),
    ...(notices.length === 0 ? {} : { notices }),
    ...(next === undefined ? {} : { next }),
  };
  const more = next === undefined ? [] : [`The answer continues in the resource ${next}`];
  const notes = [...more, ...formatNotices({ refused, notices })].map(
    (note) => ({ type: 'text', text: note }) as const,
  );
  return {
    content: [{ type: 'text', text: first }, ...notes],
    ...(metadata === undefined ? {} : { metadata }),
    ...(Object.keys(_meta).length === 0 ? {} : { _meta }),
  };
}

/** At most one text for the notices and one for the denied calls. */
export function formatNotices({
  refused = [],
  notices = [],
}: Pick<PlainAnswer, 'refused' | 'notices'>): readonly string[] {
  return [...formatBullets('Note:', notices), ...formatBullets('Refused by this server:', refused)];
}

function formatBullets(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [`${title}\n${lines.map((line) => `- ${line}`).join('\n')}`];
}

export type TextAnswer = Pick<Answer, 'text' | 'model' | 'usage' | 'finishReason' | 'sources' | 'notices'>;

export function toMetadata({ model, usage, finishReason, sources }: TextAnswer): JsonObject {
  const { totalTokenCount } = usage;
  return {
    model,
    ...(totalTokenCount === undefined ? {} : { tokensUsed: totalTokenCount }),
    finishReason,
    usage: { ...usage },
    ...(sources === undefined ? {} : { grounding: { sources: sources.map((source) => ({ ...source })) } }),
  };
}

type Defined<Values> = { readonly [Key in keyof Values]?: Exclude<Values[Key], undefined> };

export function dropUndefined<Values extends object>(values: Values): Defined<Values> {
  return castDefined(Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)));
}

function castDefined<Values>(values: object): Defined<Values> {
  return values as Defined<Values>;
}
