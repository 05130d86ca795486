import { join } from 'node:path';
import { defaultSetting } from '../config/keys.ts';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { JsonObject } from '../core/json.ts';
import { type SessionSummary, SOURCE_LABELS } from '../core/session.ts';
import { shortenId, splitEmoji } from '../core/text/names.ts';
import { sanitize } from '../core/text/terminal.ts';
import { openStore } from '../engine/session/sessions.ts';
import { touchFile } from '../platform/files/write.ts';
import { createDeadline } from '../platform/runtime/clock.ts';
import { parseRetention } from '../session/prune.ts';

export function toSessionsDirectory(app: Pick<App, 'homes'>): string {
  return join(app.homes().gmn, 'sessions');
}

/** The time before which sessions expire; undefined: never. Throws AppError `config`. */
export async function readExpiry(app: App): Promise<number | undefined> {
  const ms = parseRetention((await app.settings()).retention ?? defaultSetting('sessions.retention'));
  return ms === undefined ? undefined : app.clock.now() - ms;
}

export function toSessionJson(summary: SessionSummary): JsonObject {
  const { createdAt, updatedAt, source, isUnanswered, ...rest } = summary;
  return {
    ...rest,
    from: SOURCE_LABELS[source],
    unanswered: isUnanswered ? true : undefined,
    createdAt: new Date(createdAt).toISOString(),
    updatedAt: new Date(updatedAt).toISOString(),
  };
}

export function formatReference({ id, name }: Pick<SessionSummary, 'id' | 'name'>): string {
  return name ?? shortenId(id);
}

/** `7c1e90aa "best month for Kyoto?"`, with the name if it has one. */
export function formatTitled({ id, name, title }: SessionSummary): string {
  const named = name === undefined ? shortenId(id) : `${formatName(name)} (${shortenId(id)})`;
  return `${named} "${formatName(title)}"`;
}

/** A name or title for a list: escapes invisible and bidirectional characters, but not those in emoji. */
export function formatName(text: string): string {
  return splitEmoji(text)
    .map((piece, index) => (index % 2 === 0 ? sanitize(piece) : piece))
    .join('');
}

/** Pruning runs after the answer is printed; it must not delay the shell prompt longer than this. */
const PRUNE_LIMIT_MS = 2000;

/** Stops at the deadline or on a signal; the rest is removed another day. Never throws. */
export async function pruneExpired(app: App): Promise<void> {
  const limit = createDeadline(app.signal, PRUNE_LIMIT_MS, () => new AppError('limit', 'pruning took too long'));
  try {
    // Mark it first, so that runs started meanwhile do not prune too.
    await touchFile(join(toSessionsDirectory(app), '.pruned'), app.clock.now());
    (await import('../session/usage-report.ts')).rotateUsage(app.homes().gmn, app.clock.now());
    await openStore(app, () => {}).prune(await readExpiry(app), limit.signal);
  } catch {
    // Best effort: the next run on another day tries again.
  } finally {
    limit.clear();
  }
}
