import type { App } from '../core/app.ts';
import type { SessionSummary } from '../core/session.ts';
import { shortPath } from '../core/short-path.ts';
import { visible } from '../core/visible.ts';
import { realPath } from '../platform/real-path.ts';
import { graphemesOf, widthOf } from '../render/markdown/width.ts';
import { refuseUnreadable } from '../session/directory.ts';
import { tidySessions } from './prompt-history.ts';
import { type PrintOptions, printReport, table } from './report.ts';
import { ago, sessionFields, shownName } from './session-fields.ts';
import { openStore, sessionsDirectory } from './session-store.ts';

/** The flags of `gmn sessions list`. */
export interface ListOptions extends PrintOptions {
  readonly all?: boolean;
  readonly gemini?: boolean;
}

const LONGEST_NAME = 40;

/**
 * The saved sessions of this directory, or all: the newest first, each with the number by which `-r` finds it. Throws AppError
 * `config` if they cannot be read.
 */
export async function run(options: ListOptions, app: App): Promise<number> {
  if (options.gemini) return (await import('./sessions-import.ts')).listOfficial(options, app);
  await tidySessions(app);
  const here = realPath(app.cwd) ?? app.cwd;
  const all = (await openStore(app, () => {}).list()).map((session, index) => ({ number: index + 1, session }));
  if (all.length === 0) refuseUnreadable(sessionsDirectory(app));
  const shown = options.all ? all : all.filter(({ session }) => session.cwd === here);
  const others = all.length - shown.length;
  const rows = shown.map(({ number, session }) => rowOf(number, session, app));
  await printReport(
    {
      folds: true,
      text: rows.length === 0 ? '' : table([['#', 'ID', 'NAME', 'TURNS', 'UPDATED', 'DIRECTORY'], ...rows], widthOf),
      json: { sessions: shown.map(({ number, session }) => ({ number, ...sessionFields(session) })) },
      notices: options.json ? [] : noticesFor(shown.length, others),
    },
    options,
    app,
  );
  return 0;
}

function noticesFor(shown: number, others: number): readonly string[] {
  if (others > 0) {
    const more = shown === 0 ? 'no sessions of this directory' : `${others} more of other directories`;
    return [`${more}; to see them all: gmn sessions list --all`];
  }
  return shown === 0 ? ['no sessions are saved yet'] : [];
}

function rowOf(number: number, session: SessionSummary, app: App): readonly string[] {
  const { id, name, title, turns, updatedAt, cwd } = session;
  return [
    String(number),
    id.slice(0, 8),
    shortened(shownName(name ?? `"${title}"`)),
    String(turns),
    ago(updatedAt, app.clock.now()),
    visible(shortPath(cwd, app.env.HOME)),
  ];
}

function shortened(text: string): string {
  if (widthOf(text) <= LONGEST_NAME) return text;
  let kept = '';
  for (const grapheme of graphemesOf(text)) {
    if (widthOf(kept + grapheme) > LONGEST_NAME - 1) break;
    kept += grapheme;
  }
  return `${kept}…`;
}
