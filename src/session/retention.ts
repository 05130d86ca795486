import { parseDuration } from '../core/duration.ts';
import { AppError } from '../core/error.ts';
import type { SessionSummary } from '../core/session.ts';
import type { BlobFiles } from '../platform/blob-files.ts';
import { lineBatches } from '../platform/line-file.ts';
import { listSessions } from './directory.ts';

const DAY_MS = 86_400_000;
/** A blob may be younger than the record that will name it. */
const GRACE_MS = DAY_MS;

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

/** The sessions that would go: without a name, and not written to since `before`. */
export function expiredSessions(directory: string, before: number): readonly SessionSummary[] {
  return listSessions(directory).filter(({ name, updatedAt }) => name === undefined && updatedAt < before);
}

/** Removes the media that no session names any more. Says how many. */
export async function sweepBlobs(directory: string, blobs: BlobFiles, now: number): Promise<number> {
  if (await blobs.isEmpty()) return 0;
  const wanted = new Set<string>();
  for (const { file } of listSessions(directory)) {
    for await (const { lines } of lineBatches(file)) {
      for (const line of lines) for (const print of printsIn(line)) wanted.add(print);
    }
  }
  return blobs.sweep(wanted, now - GRACE_MS);
}

/** The key is the last of its line; what looks like it in a text does no harm. */
function printsIn(line: string): readonly string[] {
  const start = line.lastIndexOf('"blobs":[[');
  return start === -1 ? [] : (line.slice(start).match(/[0-9a-f]{64}/g) ?? []);
}
