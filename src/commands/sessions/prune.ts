import { type PrintOptions, printReport } from '../../app/report.ts';
import { readExpiry, toSessionsDirectory } from '../../app/sessions.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import type { SessionSummary } from '../../core/session.ts';
import { formatAge } from '../../core/text/format.ts';
import { shortenId } from '../../core/text/names.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { openStore } from '../../engine/sessions.ts';
import { checkReadable } from '../../session/find.ts';
import { listExpired, tryParseAge } from '../../session/prune.ts';

interface PruneOptions extends PrintOptions {
  readonly olderThan?: string;
  readonly dryRun?: boolean;
}

/**
 * Removes unnamed sessions that were not changed for a time, and media no session uses. Throws AppError `usage` or
 * `config` if that time is invalid, `config` if the sessions cannot be read.
 */
export async function run(options: PruneOptions, app: App): Promise<number> {
  const before =
    options.olderThan === undefined ? await readExpiry(app) : app.clock.now() - parseOlderThan(options.olderThan);
  const findExpired = (): readonly SessionSummary[] =>
    before === undefined ? [] : listExpired(toSessionsDirectory(app), before);
  const gone = options.dryRun ? findExpired() : await openStore(app, () => {}).prune(before, app.signal);
  if (gone.length === 0) checkReadable(toSessionsDirectory(app));
  const verb = options.dryRun ? 'would delete' : 'deleted';
  const formatLine = ({ id, title, updatedAt }: SessionSummary): string =>
    `${verb} ${shortenId(id)}  ${formatAge(updatedAt, app.clock.now())}  "${sanitize(title)}"\n`;
  const json = { deleted: gone.map(({ id }) => id), dryRun: options.dryRun ?? false };
  const notices = !options.json && gone.length === 0 ? ['there is nothing to prune'] : [];
  return printReport({ text: gone.map(formatLine).join(''), json, notices }, options, app);
}

function parseOlderThan(text: string): number {
  const ms = tryParseAge(text);
  if (ms !== undefined) return ms;
  throw new AppError('usage', `--older-than: "${text}" is not a duration`, { hint: 'Examples: 30d, 2w, 12h' });
}
