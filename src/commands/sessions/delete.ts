import { printReport, type WordOptions } from '../../app/report.ts';
import { formatReference, formatTitled, toSessionJson } from '../../app/sessions.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import type { SessionSummary } from '../../core/session.ts';
import { quoteIfNeeded } from '../../core/text/quote.ts';
import { openStore } from '../../engine/session/sessions.ts';
import { createStderr } from '../../render/stderr.ts';
import { TRASH_DAYS } from '../../session/trash.ts';

interface DeleteOptions extends WordOptions {
  readonly permanently?: boolean;
}

/**
 * Moves sessions to the trash, or removes them permanently, also from there: all that are named, or none if one cannot be
 * found. Throws AppError `usage` at the first one that is open elsewhere.
 */
export async function run(options: DeleteOptions, app: App): Promise<number> {
  if (options.args.length === 0) {
    throw new AppError('usage', 'sessions delete takes one session or more', {
      hint: 'To see them: gmn sessions list',
    });
  }
  const store = openStore(app, () => {});
  const found = new Map<string, SessionSummary>();
  // Resolve all references first: numbers shift once a session is removed.
  for (const reference of options.args) {
    const summary = await store.findNamed(reference, app.cwd, { withTrash: options.permanently });
    found.set(summary.id, summary);
  }
  const deleted: SessionSummary[] = [];
  try {
    for (const summary of found.values()) {
      await (options.permanently ? store.remove(summary) : store.discard(summary));
      deleted.push(summary);
    }
  } finally {
    // Also report those removed before a failure.
    if (deleted.length > 0) await reportDeleted(deleted, options, app);
  }
  return 0;
}

async function reportDeleted(deleted: readonly SessionSummary[], options: DeleteOptions, app: App): Promise<void> {
  const text = deleted.map((summary) => `deleted ${formatTitled(summary)}\n`).join('');
  const json = { deleted: deleted.map(({ id }) => id), sessions: deleted.map(toSessionJson) };
  await printReport({ text, json }, options, app);
  if (options.permanently || options.json || options.quiet) return;
  const words = deleted.map((summary) => quoteIfNeeded(formatReference(summary))).join(' ');
  const notice = `to bring ${deleted.length === 1 ? 'it' : 'them'} back within ${TRASH_DAYS} days: gmn sessions restore ${words}`;
  await createStderr(app.io.err).notice(notice);
}
