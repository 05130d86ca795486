import { type SessionSummary, SOURCE_WORDS } from '../core/session.ts';
import { counted } from '../core/text/counted.ts';
import { formatDuration } from '../core/text/format.ts';
import { visible } from '../core/text/terminal.ts';
import { shortId } from '../core/text/uuid.ts';
import type { Row } from './rows.ts';

const MAX_TITLE = 50;

/** A session as a row: number and short id; name, where it is held, turns, age, title. Nothing in it can move the cursor. */
export function sessionRow(summary: SessionSummary, number: string, now: number): Row {
  const { id, name, title, turns, isUnanswered, source, updatedAt } = summary;
  const words = title.length > MAX_TITLE ? `${title.slice(0, MAX_TITLE - 1).toWellFormed()}…` : title;
  const about = [
    ...(name === undefined ? [] : [visible(name)]),
    SOURCE_WORDS[source],
    turns === 0 && isUnanswered ? 'no answer yet' : counted(turns, 'turn'),
    age(now - updatedAt),
    visible(words),
  ];
  return [`${number}  ${shortId(id)}`, about.join('  ')];
}

function age(ms: number): string {
  return ms < 60_000 ? 'just now' : `${formatDuration(ms)} ago`;
}
