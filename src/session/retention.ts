import { AppError } from '../core/error.ts';
import type { SessionSummary } from '../core/session.ts';
import { parseDuration } from '../core/text/format.ts';
import { type Glance, glances } from './find.ts';
import { VERSION } from './record.ts';

const DAY_MS = 86_400_000;

/** How long sessions without a name are kept, unless a setting says otherwise. */
const DEFAULT_RETENTION = '30d';

/** A span of time, with days (`30d`) and weeks (`2w`) too, in milliseconds; undefined if it is none. */
export function parseAge(text: string): number | undefined {
  const [, count, unit] = /^(\d+(?:\.\d+)?)([dw])$/.exec(text) ?? [];
  return count === undefined ? parseDuration(text) : Number(count) * (unit === 'w' ? 7 : 1) * DAY_MS;
}

/** The setting `sessions.retention` in milliseconds; undefined: for ever. Throws AppError `config` if it is neither. */
export function retentionMs(setting: string = DEFAULT_RETENTION): number | undefined {
  if (setting === 'never') return undefined;
  const ms = parseAge(setting);
  if (ms !== undefined) return ms;
  throw new AppError('config', `sessions.retention: "${setting}" is neither a duration nor "never"`, {
    hint: 'Example: "sessions": { "retention": "30d" }',
  });
}

/** Whether a session is to go: it has no name, was not written to since `before`, and is not of a newer gmn. */
export function isExpired({ summary, version }: Glance, before: number): boolean {
  return summary.name === undefined && summary.updatedAt < before && version <= VERSION;
}

/** The sessions that would go. */
export function expiredSessions(directory: string, before: number): readonly SessionSummary[] {
  return glances(directory).flatMap((glance) => (isExpired(glance, before) ? [glance.summary] : []));
}
