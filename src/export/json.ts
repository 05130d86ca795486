import type { SavedRecord, SavedSession } from '../core/session.ts';
import { encode } from '../render/json-text.ts';
import { timeCode, totalUsage } from './transcript.ts';

/**
 * A session as one JSON document, piece by piece; docs/schemas/session-export.schema.json describes it. `contents` is what
 * was said, parts exactly as they were, and the n-th of `records` tells of the n-th content when and by whom.
 */
export function* jsonExport({ summary, records, notices }: SavedSession): Generator<string, void> {
  const { id, name, title, cwd, model, createdAt, updatedAt, turns } = summary;
  const head = {
    version: 1,
    session: { id, name, title, cwd, model, createdAt: timeCode(createdAt), updatedAt: timeCode(updatedAt), turns },
    usage: totalUsage(records),
    ...(notices.length > 0 ? { warnings: notices } : {}),
  };
  yield encode(head, 2).slice(0, -2);
  yield* list(
    'contents',
    records.map(({ content: { role, parts } }) => ({ role, parts })),
  );
  yield* list('records', records.map(aboutRecord));
  yield '\n}\n';
}

/** Everything about a record but what it says. Who made the signatures stands here: the API takes no such key in a content. */
function aboutRecord({ content: { origin }, at, ...rest }: SavedRecord): object {
  return { ...rest, at: timeCode(at), ...(origin === undefined ? {} : { origin }) };
}

function* list(name: string, items: readonly object[]): Generator<string, void> {
  yield `,\n  "${name}": [`;
  for (const [index, item] of items.entries()) {
    // A line break in the text is never inside a string.
    yield `${index === 0 ? '' : ','}\n    ${encode(item, 2).replaceAll('\n', '\n    ')}`;
  }
  yield items.length === 0 ? ']' : '\n  ]';
}
