import { formatTable, printReport, type WordOptions } from '../../app/report.ts';
import { formatName, formatTitled, toSessionJson } from '../../app/sessions.ts';
import type { App } from '../../core/app.ts';
import type { JsonObject } from '../../core/json.ts';
import type { SessionSummary } from '../../core/session.ts';
import { DAY_MS, formatAge, plural } from '../../core/text/format.ts';
import { shortenId } from '../../core/text/names.ts';
import { shortenPath } from '../../core/text/path.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { truncateEnd } from '../../core/text/width.ts';
import { openStore } from '../../engine/session/sessions.ts';
import type { LocalStore } from '../../session/store.ts';
import { TRASH_DAYS, type TrashedSession } from '../../session/trash.ts';

/**
 * Brings deleted sessions back: all that are named, or none if one is not in the trash. Without a name, lists what is
 * there. Throws AppError `usage`.
 */
export async function run(options: WordOptions, app: App): Promise<number> {
  const store = openStore(app, () => {});
  if (options.args.length === 0) return printTrash(await store.listTrash(), options, app);
  const found = new Map<string, TrashedSession>();
  for (const reference of options.args) {
    const trashed = await store.findTrashed(reference);
    found.set(trashed.summary.id, trashed);
  }
  const restored: SessionSummary[] = [];
  const notices: string[] = [];
  try {
    for (const trashed of found.values()) restored.push(await restore(trashed, store, notices));
  } finally {
    if (restored.length > 0) {
      const text = restored.map((summary) => `restored ${formatTitled(summary)}\n`).join('');
      const json = { restored: restored.map(({ id }) => id), sessions: restored.map(toSessionJson) };
      await printReport({ text, json, notices }, options, app);
    }
  }
  return 0;
}

async function restore(trashed: TrashedSession, store: LocalStore, notices: string[]): Promise<SessionSummary> {
  const { id, name = '' } = trashed.summary;
  const keepsName = await store.restore(trashed);
  if (!keepsName) notices.push(`another session is named ${sanitize(name)} now; ${shortenId(id)} has no name`);
  return store.find(id);
}

const MAX_NAME = 40;

function printTrash(all: readonly TrashedSession[], options: WordOptions, app: App): Promise<number> {
  const now = app.clock.now();
  const rows = all.map(({ summary: { id, name, title, turns, cwd }, deletedAt }) => [
    shortenId(id),
    name === undefined ? `"${truncateEnd(formatName(title), MAX_NAME - 2)}"` : truncateEnd(formatName(name), MAX_NAME),
    String(turns),
    formatAge(deletedAt, now),
    formatDaysLeft(deletedAt, now),
    sanitize(shortenPath(cwd, app.env.HOME)),
  ]);
  const head = ['ID', 'NAME', 'TURNS', 'DELETED', 'KEPT FOR', 'DIRECTORY'];
  const notice = rows.length === 0 ? 'the trash is empty' : 'to bring one back: gmn sessions restore <id or name>';
  const report = {
    text: rows.length === 0 ? '' : formatTable([head, ...rows]),
    json: { trash: all.map(toTrashJson) },
    notices: options.json ? [] : [notice],
  } as const;
  return printReport(report, options, app);
}

function formatDaysLeft(deletedAt: number, now: number): string {
  return plural(Math.max(0, Math.ceil((deletedAt - now) / DAY_MS) + TRASH_DAYS), 'day');
}

function toTrashJson({ summary, deletedAt }: TrashedSession): JsonObject {
  return {
    ...toSessionJson(summary),
    deletedAt: new Date(deletedAt).toISOString(),
    keptUntil: new Date(deletedAt + TRASH_DAYS * DAY_MS).toISOString(),
  };
}
