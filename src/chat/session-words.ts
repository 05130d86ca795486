import { counted } from '../core/counted.ts';
import { formatDuration } from '../core/duration.ts';
import type { SessionSummary } from '../core/session.ts';
import { visible } from '../core/visible.ts';
import type { Row } from './rows.ts';

const SHORT_ID = 8;
const MAX_TITLE = 50;

/** As much of an id as `-r` and `/load` need. */
export function shortId({ id }: { readonly id: string }): string {
  return id.slice(0, SHORT_ID);
}

/** A session as a row: number and short id; name, turns, age, title. Nothing in it can move the cursor. */
export function sessionRow(summary: SessionSummary, number: string, now: number): Row {
  const { name, title, turns, updatedAt } = summary;
  const words = title.length > MAX_TITLE ? `${title.slice(0, MAX_TITLE - 1).toWellFormed()}…` : title;
  const about = [
    ...(name === undefined ? [] : [visible(name)]),
    counted(turns, 'turn'),
    age(now - updatedAt),
    visible(words),
  ];
  return [`${number}  ${shortId(summary)}`, about.join('  ')];
}

function age(ms: number): string {
  return ms < 60_000 ? 'just now' : `${formatDuration(ms)} ago`;
}
