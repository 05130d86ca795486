import { printReport, type WordOptions } from '../../app/report.ts';
import { formatReference } from '../../app/sessions.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import type { SessionSummary } from '../../core/session.ts';
import { openStore } from '../../engine/sessions.ts';

/**
 * Removes sessions permanently: all that are named, or none if one cannot be found. Throws AppError `usage` at the
 * first one that is open elsewhere.
 */
export async function run(options: WordOptions, app: App): Promise<number> {
  if (options.args.length === 0) {
    throw new AppError('usage', 'sessions delete takes one session or more', {
      hint: 'To see them: gmn sessions list',
    });
  }
  const store = openStore(app, () => {});
  const found = new Map<string, SessionSummary>();
  // Resolve all references first: numbers shift once a session is removed.
  for (const reference of options.args) {
    const summary = await store.find(reference);
    found.set(summary.id, summary);
  }
  const deleted: SessionSummary[] = [];
  try {
    for (const summary of found.values()) {
      await store.remove(summary);
      deleted.push(summary);
    }
  } finally {
    // Also report those removed before a failure.
    const text = deleted.map((summary) => `deleted ${formatReference(summary)}\n`).join('');
    if (deleted.length > 0) await printReport({ text, json: { deleted: deleted.map(({ id }) => id) } }, options, app);
  }
  return 0;
}
