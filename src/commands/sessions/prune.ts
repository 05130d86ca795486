import { type PrintOptions, printReport } from '../../app/report.ts';
import { ago, expiry, openStore, sessionsDirectory } from '../../app/sessions.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import type { SessionSummary } from '../../core/session.ts';
import { shortId } from '../../core/text/names.ts';
import { visible } from '../../core/text/terminal.ts';
import { refuseUnreadable } from '../../session/find.ts';
import { expiredSessions, parseAge } from '../../session/upkeep.ts';

export interface PruneOptions extends PrintOptions {
  readonly olderThan?: string;
  readonly dryRun?: boolean;
}

/**
 * Removes unnamed sessions that were not changed for a time, and media no session uses. Throws AppError `usage` or
 * `config` if that time is invalid, `config` if the sessions cannot be read.
 */
export async function run(options: PruneOptions, app: App): Promise<number> {
  const before = options.olderThan === undefined ? await expiry(app) : app.clock.now() - ageOf(options.olderThan);
  const gone = await (options.dryRun ? expired(before, app) : openStore(app, () => {}).prune(before, app.signal));
  if (gone.length === 0) refuseUnreadable(sessionsDirectory(app));
  const verb = options.dryRun ? 'would delete' : 'deleted';
  const line = ({ id, title, updatedAt }: SessionSummary): string =>
    `${verb} ${shortId(id)}  ${ago(updatedAt, app.clock.now())}  "${visible(title)}"\n`;
  await printReport(
    {
      text: gone.map(line).join(''),
      json: { deleted: gone.map(({ id }) => id), dryRun: options.dryRun ?? false },
      notices: !options.json && gone.length === 0 ? ['there is nothing to prune'] : [],
    },
    options,
    app,
  );
  return 0;
}

function expired(before: number | undefined, app: App): readonly SessionSummary[] {
  return before === undefined ? [] : expiredSessions(sessionsDirectory(app), before);
}

function ageOf(text: string): number {
  const ms = parseAge(text);
  if (ms !== undefined) return ms;
  throw new AppError('usage', `--older-than: "${text}" is not a duration`, { hint: 'Examples: 30d, 2w, 12h' });
}
