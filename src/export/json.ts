import type { SavedRecord, SavedSession } from '../core/session.ts';
import { encodeJson } from '../render/json-text.ts';
import { sumUsage, toIsoTime } from './transcript.ts';

/**
 * docs/schemas/session-export.schema.json describes it. `contents` holds the parts unchanged; the n-th of `records`
 * says when and by whom the n-th content was made.
 */
export function* exportJson({ summary, records, notices }: SavedSession): Generator<string, void> {
  const { id, name, title, cwd, model, createdAt, updatedAt, turns } = summary;
  const head = {
    version: 1,
    session: { id, name, title, cwd, model, createdAt: toIsoTime(createdAt), updatedAt: toIsoTime(updatedAt), turns },
    usage: sumUsage(records),
    warnings: notices.length > 0 ? notices : undefined,
  };
  yield encodeJson(head, 2).slice(0, -2);
  yield* formatList(
    'contents',
    records.map(({ content: { role, parts } }) => ({ role, parts })),
  );
  yield* formatList('records', records.map(toRecordInfo));
  yield '\n}\n';
}

/** gmn's own fields of a content are here, since the API rejects them inside `contents`. */
function toRecordInfo({ content: { origin, isFollowUp, question }, at, ...rest }: SavedRecord): object {
  return { ...rest, at: toIsoTime(at), origin, isFollowUp, question };
}

function* formatList(name: string, items: readonly object[]): Generator<string, void> {
  yield `,\n  "${name}": [`;
  for (const [index, item] of items.entries()) {
    // A raw line break is never inside a JSON string.
    yield `${index === 0 ? '' : ','}\n    ${encodeJson(item, 2).replaceAll('\n', '\n    ')}`;
  }
  yield items.length === 0 ? ']' : '\n  ]';
}
