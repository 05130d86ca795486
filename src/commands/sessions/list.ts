import { tidySessions } from '../../app/history.ts';
import { type PrintOptions, printReport, table } from '../../app/report.ts';
import { ago, openStore, sessionFields, sessionsDirectory, shownName } from '../../app/sessions.ts';
import type { App } from '../../core/app.ts';
import { type SessionSummary, SOURCE_WORDS } from '../../core/session.ts';
import { shortId } from '../../core/text/names.ts';
import { shortPath } from '../../core/text/path.ts';
import { visible } from '../../core/text/terminal.ts';
import { graphemesOf, widthOf } from '../../core/text/width.ts';
import { realPath } from '../../platform/files/path.ts';
import { refuseUnreadable } from '../../session/find.ts';

export interface ListOptions extends PrintOptions {
  readonly all?: boolean;
  readonly gemini?: boolean;
  readonly from?: (typeof SOURCE_WORDS)[keyof typeof SOURCE_WORDS];
  /** `whole-ids`: the table with full ids; `official`: the format of `gemini --list-sessions`. Short ids by default. */
  readonly layout?: 'whole-ids' | 'official';
}

const LONGEST_NAME = 40;
/** A shorter name or directory would be of no use. */
const SHORTEST = 12;
const HEAD = ['#', 'ID', 'NAME', 'FROM', 'TURNS', 'UPDATED', 'DIRECTORY'] as const;

/**
 * Lists the saved sessions of this directory, or all: newest first, each with the number that `-r` accepts. Throws
 * AppError `config` if they cannot be read.
 */
export async function run(options: ListOptions, app: App): Promise<number> {
  if (options.gemini) return (await import('./import.ts')).listOfficial(options, app);
  await tidySessions(app);
  const here = realPath(app.cwd) ?? app.cwd;
  const all = (await openStore(app, () => {}).list()).map((session, index) => ({ number: index + 1, session }));
  if (all.length === 0) refuseUnreadable(sessionsDirectory(app));
  const wanted = all.filter(
    ({ session }) => options.from === undefined || SOURCE_WORDS[session.source] === options.from,
  );
  const shown = options.all ? wanted : wanted.filter(({ session }) => session.cwd === here);
  const others = wanted.length - shown.length;
  if (options.layout === 'official' && !options.json) {
    await app.io.out.write(officialText(shown, app));
    return 0;
  }
  const isWhole = options.layout === 'whole-ids';
  const rows = shown.map(({ number, session }) => rowOf(number, session, { app, isWhole }));
  const listed = (room: Room): string =>
    rows.length === 0 ? '' : table([headOf(room), ...rows.map((row) => cells(row, room))], widthOf);
  await printReport(
    {
      folds: true,
      text: listed({ name: LONGEST_NAME, directory: Number.POSITIVE_INFINITY, hasSource: true }),
      narrow: (columns) => listed(roomFor(rows, columns)),
      json: { sessions: shown.map(({ number, session }) => ({ number, ...sessionFields(session) })) },
      notices: options.json ? [] : noticesFor(shown.length, others, options.from),
    },
    options,
    app,
  );
  return 0;
}

interface Numbered {
  readonly number: number;
  readonly session: SessionSummary;
}

/** The official CLI's format and order, newest last, but with gmn's numbers, so that `-r` accepts them. */
function officialText(shown: readonly Numbered[], app: App): string {
  if (shown.length === 0) return 'No previous sessions found for this project.\n';
  const lines = shown
    .toSorted((left, right) => left.session.createdAt - right.session.createdAt)
    .map(({ number, session: { id, name, title, updatedAt } }) => {
      const words = shownName(name ?? title);
      return `  ${number}. ${words} (${ago(updatedAt, app.clock.now())}) [${id}]\n`;
    });
  return `\nAvailable sessions for this project (${shown.length}):\n\n${lines.join('')}`;
}

function noticesFor(shown: number, others: number, from: ListOptions['from']): readonly string[] {
  const kind = from === undefined ? 'sessions' : `${from} sessions`;
  if (others > 0) {
    const more = shown === 0 ? `no ${kind} of this directory` : `${others} more of other directories`;
    const flags = ['--all', ...(from === undefined ? [] : ['--from', from])];
    return [`${more}; to see them all: gmn sessions list ${flags.join(' ')}`];
  }
  return shown === 0 ? [`no ${kind} are saved yet`] : [];
}

interface Row {
  readonly fixed: readonly [number: string, id: string, from: string, turns: string, updated: string];
  readonly name: string;
  /** The start of the first prompt, since there is no name. */
  readonly isTitle: boolean;
  readonly directory: string;
}

interface Room {
  readonly name: number;
  readonly directory: number;
  /** Whether the FROM column fits. */
  readonly hasSource: boolean;
}

function headOf({ hasSource }: Room): readonly string[] {
  return HEAD.filter((head) => hasSource || head !== 'FROM');
}

function rowOf(
  number: number,
  { id, name, title, source, turns, updatedAt, cwd }: SessionSummary,
  { app, isWhole }: { readonly app: App; readonly isWhole: boolean },
): Row {
  const shownId = isWhole ? id : shortId(id);
  return {
    fixed: [String(number), shownId, SOURCE_WORDS[source], String(turns), ago(updatedAt, app.clock.now())],
    name: shownName(name ?? title),
    isTitle: name === undefined,
    directory: visible(shortPath(cwd, app.env.HOME)),
  };
}

function cells({ fixed, name, isTitle, directory }: Row, room: Room): readonly string[] {
  const [number, id, from, turns, updated] = fixed;
  const shown = isTitle ? `"${beginning(name, room.name - 2)}"` : beginning(name, room.name);
  return [number, id, shown, ...(room.hasSource ? [from] : []), turns, updated, ending(directory, room.directory)];
}

/** Shares the width left by the other columns: a directory gets what it needs, up to half. */
function roomFor(rows: readonly Row[], columns: number): Room {
  const [number, id, , from, turns, updated, last] = HEAD;
  const widths = [number, id, from, turns, updated].map((head, index) =>
    Math.max(widthOf(head), ...rows.map(({ fixed }) => widthOf(fixed[index] ?? ''))),
  );
  const room = columns - widths.reduce((sum, width) => sum + width + 2, 0) - 2;
  const hasSource = room >= 2 * SHORTEST;
  const left = hasSource ? room : room + (widths[2] ?? 0) + 2;
  const widest = (texts: readonly string[]): number => Math.max(...texts.map(widthOf));
  const names = Math.min(LONGEST_NAME, widest(rows.map(({ name, isTitle }) => (isTitle ? `"${name}"` : name))));
  const directories = Math.max(last.length, widest(rows.map(({ directory }) => directory)));
  const directory = Math.max(SHORTEST, Math.min(directories, Math.max(Math.floor(left / 2), left - names)));
  return { name: Math.max(SHORTEST, Math.min(LONGEST_NAME, left - directory)), directory, hasSource };
}

function beginning(text: string, room: number): string {
  return widthOf(text) <= room ? text : `${fittingGraphemes(graphemesOf(text), room - 1).join('')}…`;
}

/** Keeps the end of a path, which says more than its start. */
function ending(text: string, room: number): string {
  if (widthOf(text) <= room) return text;
  return `…${fittingGraphemes(graphemesOf(text).toReversed(), room - 1)
    .toReversed()
    .join('')}`;
}

function fittingGraphemes(graphemes: readonly string[], room: number): readonly string[] {
  let width = 0;
  const end = graphemes.findIndex((grapheme) => {
    width += widthOf(grapheme);
    return width > room;
  });
  return end === -1 ? graphemes : graphemes.slice(0, end);
}
