import { type PrintOptions, printReport } from '../../app/report.ts';
import { readExpiry, toSessionsDirectory } from '../../app/sessions.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import type { SessionSummary } from '../../core/session.ts';
import { formatAge } from '../../core/text/format.ts';
import { shortenId } from '../../core/text/names.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { openStore } from '../../engine/session/sessions.ts';
import { checkReadable } from '../../session/find.ts';
import { listExpired, tryParseAge } from '../../session/prune.ts';
import { TRASH_DAYS } from '../../session/trash.ts';

interface PruneOptions extends PrintOptions {
  readonly olderThan?: string;
  readonly dryRun?: boolean;
}

/**
 * Removes unnamed sessions that were not changed for a time, and media no session uses. Sessions older than a time that
 * was typed go to the trash. Throws AppError `usage` or `config` if that time is invalid, `config` if the sessions cannot
 * be read.
 */
export async function run(options: PruneOptions, app: App): Promise<number> {
  const before =
    options.olderThan === undefined ? await readExpiry(app) : app.clock.now() - parseOlderThan(options.olderThan);
  const findExpired = (): readonly SessionSummary[] =>
    before === undefined ? [] : listExpired(toSessionsDirectory(app), before);
  // What expires by itself is gone; an age that was typed may be a slip.
  const keepsInTrash = options.olderThan !== undefined;
  const gone = options.dryRun
    ? findExpired()
    : await openStore(app, () => {}).prune(before, app.signal, { keepsInTrash });
  if (gone.length === 0) checkReadable(toSessionsDirectory(app));
  const verb = options.dryRun ? 'would delete' : 'deleted';
  const formatLine = ({ id, title, updatedAt }: SessionSummary): string =>
    `${verb} ${shortenId(id)}  ${formatAge(updatedAt, app.clock.now())}  "${sanitize(title)}"\n`;
  const json = { deleted: gone.map(({ id }) => id), dryRun: options.dryRun ?? false };
  const isRestorable = keepsInTrash && !options.dryRun;
  const notice = gone.length === 0 ? 'there is nothing to prune' : isRestorable ? TRASH_NOTICE : undefined;
  const notices = notice === undefined || options.json ? [] : [notice];
  return printReport({ text: gone.map(formatLine).join(''), json, notices }, options, app);
}

const TRASH_NOTICE = `for ${TRASH_DAYS} days they can be brought back: gmn sessions restore`;

function parseOlderThan(text: string): number {
  const ms = tryParseAge(text);
  if (ms !== undefined) return ms;
  throw new AppError('usage', `--older-than: "${text}" is not a duration`, { hint: 'Examples: 30d, 2w, 12h' });
}
