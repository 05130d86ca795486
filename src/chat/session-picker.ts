import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { SessionStore } from '../core/session.ts';
import { openStore } from '../engine/session/sessions.ts';
import { realPath } from '../platform/files/path.ts';
import { formatSessionRows, type ListedSession } from './banner.ts';
import type { Candidate, LineSource } from './line/source.ts';

export async function listNumbered(store: Pick<SessionStore, 'list'>): Promise<readonly ListedSession[]> {
  return (await store.list()).map((summary, index) => ({ summary, number: index + 1 }));
}

/** What is inserted is the id. */
export function toSessionCandidates(listed: readonly ListedSession[], now: number): readonly Candidate[] {
  const rows = formatSessionRows(listed, now);
  return listed.map(({ summary: { id } }, index) => ({ insert: id, label: rows[index]?.[0], hint: rows[index]?.[1] }));
}

/**
 * `-r` alone: the id of the session of this directory that the person chooses; undefined if none. Where there is no
 * terminal to choose on, the newest. Throws AppError `usage` if there is none to choose.
 */
export async function pickSession(app: App, lines: Pick<LineSource, 'pick'>): Promise<string | undefined> {
  if (lines.pick === undefined) return 'last';
  const here = realPath(app.cwd) ?? app.cwd;
  const all = await listNumbered(openStore(app, () => {}));
  const found = all.filter(({ summary }) => summary.cwd === here);
  if (found.length === 0) {
    throw new AppError('usage', 'there is no saved session of this directory', {
      hint: 'To see them all: gmn sessions list --all. To continue one: -r <id>',
    });
  }
  const candidates = toSessionCandidates(found, app.clock.now());
  return (await lines.pick({ title: 'Continue which session?', candidates }))?.insert;
}
