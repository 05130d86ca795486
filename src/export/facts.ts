import type { SavedSession } from '../core/session.ts';
import { addUsage, NO_USAGE, type Usage } from '../core/usage.ts';

/** What is said about a session before it is told: names and values for people; untrusted text. */
export function factsOf({ summary, records }: SavedSession): readonly (readonly [name: string, value: string])[] {
  const { id, name, model, cwd, createdAt, updatedAt, turns } = summary;
  const tokens = tokenLine(totalUsage(records));
  return [
    ['Session', name === undefined ? id : `${name} (${id})`],
    ...(model === undefined ? [] : [['Model', model] as const]),
    ['Directory', cwd],
    ['Begun', timeText(createdAt)],
    ['Last used', timeText(updatedAt)],
    ['Turns', count(turns)],
    ...(tokens === '' ? [] : [['Tokens', tokens] as const]),
  ];
}

/** The tokens of all model calls. */
export function totalUsage(records: SavedSession['records']): Usage {
  let total = NO_USAGE;
  for (const record of records) if ('usage' in record) total = addUsage(total, record.usage);
  return total;
}

/** `1,200 in · 310 out`; empty if nothing is known. */
export function tokenLine({ promptTokenCount, candidatesTokenCount, thoughtsTokenCount }: Usage): string {
  const out =
    candidatesTokenCount === undefined && thoughtsTokenCount === undefined
      ? undefined
      : (candidatesTokenCount ?? 0) + (thoughtsTokenCount ?? 0);
  return [
    ...(promptTokenCount === undefined ? [] : [`${count(promptTokenCount)} in`]),
    ...(out === undefined ? [] : [`${count(out)} out`]),
  ].join(' · ');
}

/** A time in words that mean the same everywhere: `2026-01-31 09:05 UTC`. */
export function timeText(at: number): string {
  return `${timeCode(at).slice(0, 16).replace('T', ' ')} UTC`;
}

/** A time for programs, as ISO 8601. A number that is no time becomes the first one there is: it must not lose a session. */
export function timeCode(at: number): string {
  const time = new Date(at);
  return (Number.isNaN(time.getTime()) ? new Date(0) : time).toISOString();
}

/** `12,345` */
export function count(amount: number): string {
  return amount.toLocaleString('en-GB');
}
