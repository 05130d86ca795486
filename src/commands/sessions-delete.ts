import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { SessionSummary } from '../core/session.ts';
import { printReport } from './report.ts';
import { shortReference } from './session-fields.ts';
import { openStore } from './session-store.ts';
import type { ReferenceOptions } from './sessions-show.ts';

/** Removes sessions for good: all that are named, or none if one cannot be found. Throws AppError `usage`. */
export async function run(options: ReferenceOptions, app: App): Promise<number> {
  if (options.args.length === 0) {
    throw new AppError('usage', 'sessions delete takes one session or more', {
      hint: 'To see them: gmn sessions list',
    });
  }
  const store = openStore(app, () => {});
  const found = new Map<string, SessionSummary>();
  // Numbers would mean others once the first is gone.
  for (const reference of options.args) {
    const summary = await store.find(reference);
    found.set(summary.id, summary);
  }
  for (const summary of found.values()) await store.remove(summary);
  const deleted = [...found.values()];
  await printReport(
    {
      text: deleted.map((summary) => `deleted ${shortReference(summary)}\n`).join(''),
      json: { deleted: deleted.map(({ id }) => id) },
      notices: [],
    },
    options,
    app,
  );
  return 0;
}
