import type { JsonObject } from '../core/json.ts';
import { type SessionSummary, SOURCE_WORDS } from '../core/session.ts';
import { emojiApart } from '../core/text/emoji.ts';
import { visible } from '../core/text/terminal.ts';
import { shortId } from '../core/text/uuid.ts';

/** A session as the JSON of the `sessions` commands shows it. */
export function sessionFields(summary: SessionSummary): JsonObject {
  const { createdAt, updatedAt, source, isUnanswered, ...rest } = summary;
  return {
    ...rest,
    from: SOURCE_WORDS[source],
    ...(isUnanswered ? { unanswered: true } : {}),
    createdAt: new Date(createdAt).toISOString(),
    updatedAt: new Date(updatedAt).toISOString(),
  };
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** How long ago, in words: `just now`, `5 min ago`, `3 h ago`, `2 days ago`; the day, if it is long ago. */
export function ago(then: number, now: number): string {
  const ms = now - then;
  // A clock that was set back is no reason to speak of the future.
  if (ms < MINUTE_MS) return 'just now';
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min ago`;
  if (ms < DAY_MS) return `${Math.floor(ms / HOUR_MS)} h ago`;
  const days = Math.floor(ms / DAY_MS);
  return days < 30 ? `${days} ${days === 1 ? 'day' : 'days'} ago` : new Date(then).toISOString().slice(0, 10);
}

/** The reference by which a session is spoken of: its name, else the beginning of its id. */
export function shortReference({ id, name }: Pick<SessionSummary, 'id' | 'name'>): string {
  return name ?? shortId(id);
}

/** A name or title as a list shows it: every character that cannot be seen, or moves others, as its escape; emoji as they are. */
export function shownName(text: string): string {
  return emojiApart(text)
    .map((piece, index) => (index % 2 === 0 ? visible(piece) : piece))
    .join('');
}
