import { pruneIfDue } from '../../app/history.ts';
import { formatTable, type PrintOptions, printReport } from '../../app/report.ts';
import { formatName, openStore, sessionsDirectory, toSessionJson } from '../../app/sessions.ts';
import type { App } from '../../core/app.ts';
import { type SessionSummary, SOURCE_LABELS } from '../../core/session.ts';
import { formatAge } from '../../core/text/format.ts';
import { shortId } from '../../core/text/names.ts';
import { shortenPath } from '../../core/text/path.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { measureWidth, splitGraphemes } from '../../core/text/width.ts';
import { realPath } from '../../platform/files/path.ts';
import { checkReadable } from '../../session/find.ts';

export interface ListOptions extends PrintOptions {
  readonly all?: boolean;
  readonly gemini?: boolean;
  readonly from?: (typeof SOURCE_LABELS)[keyof typeof SOURCE_LABELS];
  /** `whole-ids`: the table with full ids; `official`: the format of `gemini --list-sessions`. Short ids by default. */
  readonly layout?: 'whole-ids' | 'official';
}

const MAX_NAME = 40;
/** A shorter name or directory would be of no use. */
const MIN_WIDTH = 12;
const HEADERS = ['#', 'ID', 'NAME', 'FROM', 'TURNS', 'UPDATED', 'DIRECTORY'] as const;

/**
 * Lists the saved sessions of this directory, or all: newest first, each with the number that `-r` accepts. Throws
 * AppError `config` if they cannot be read.
 */
export async function run(options: ListOptions, app: App): Promise<number> {
  if (options.gemini) return (await import('./import.ts')).listOfficial(options, app);
  await pruneIfDue(app);
  const here = realPath(app.cwd) ?? app.cwd;
  const all = (await openStore(app, () => {}).list()).map((session, index) => ({ number: index + 1, session }));
  if (all.length === 0) checkReadable(sessionsDirectory(app));
  const wanted = all.filter(
    ({ session }) => options.from === undefined || SOURCE_LABELS[session.source] === options.from,
  );
  const shown = options.all ? wanted : wanted.filter(({ session }) => session.cwd === here);
  const others = wanted.length - shown.length;
  if (options.layout === 'official' && !options.json) {
    await app.io.out.write(formatOfficial(shown, app));
    return 0;
  }
  const isWhole = options.layout === 'whole-ids';
  const rows = shown.map(({ number, session }) => toRow(number, session, { app, isWhole }));
  const formatSessionTable = (room: ColumnWidths): string =>
    rows.length === 0 ? '' : formatTable([toHeaderRow(room), ...rows.map((row) => toCells(row, room))], measureWidth);
  await printReport(
    {
      folds: true,
      text: formatSessionTable({ name: MAX_NAME, directory: Number.POSITIVE_INFINITY, hasSource: true }),
      narrow: (columns) => formatSessionTable(fitColumns(rows, columns)),
      json: { sessions: shown.map(({ number, session }) => ({ number, ...toSessionJson(session) })) },
      notices: options.json ? [] : listNotices(shown.length, others, options.from),
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
function formatOfficial(shown: readonly Numbered[], app: App): string {
  if (shown.length === 0) return 'No previous sessions found for this project.\n';
  const lines = shown
    .toSorted((left, right) => left.session.createdAt - right.session.createdAt)
    .map(({ number, session: { id, name, title, updatedAt } }) => {
      const words = formatName(name ?? title);
      return `  ${number}. ${words} (${formatAge(updatedAt, app.clock.now())}) [${id}]\n`;
    });
  return `\nAvailable sessions for this project (${shown.length}):\n\n${lines.join('')}`;
}

function listNotices(shown: number, others: number, from: ListOptions['from']): readonly string[] {
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

interface ColumnWidths {
  readonly name: number;
  readonly directory: number;
  /** Whether the FROM column fits. */
  readonly hasSource: boolean;
}

function toHeaderRow({ hasSource }: ColumnWidths): readonly string[] {
  return HEADERS.filter((head) => hasSource || head !== 'FROM');
}

function toRow(
  number: number,
  { id, name, title, source, turns, updatedAt, cwd }: SessionSummary,
  { app, isWhole }: { readonly app: App; readonly isWhole: boolean },
): Row {
  const shownId = isWhole ? id : shortId(id);
  return {
    fixed: [String(number), shownId, SOURCE_LABELS[source], String(turns), formatAge(updatedAt, app.clock.now())],
    name: formatName(name ?? title),
    isTitle: name === undefined,
    directory: sanitize(shortenPath(cwd, app.env.HOME)),
  };
}

function toCells({ fixed, name, isTitle, directory }: Row, room: ColumnWidths): readonly string[] {
  const [number, id, from, turns, updated] = fixed;
  const shown = isTitle ? `"${truncateEnd(name, room.name - 2)}"` : truncateEnd(name, room.name);
  return [
    number,
    id,
    shown,
    ...(room.hasSource ? [from] : []),
    turns,
    updated,
    truncateStart(directory, room.directory),
  ];
}

/** Shares the width left by the other columns: a directory gets what it needs, up to half. */
function fitColumns(rows: readonly Row[], columns: number): ColumnWidths {
  const [number, id, , from, turns, updated, last] = HEADERS;
  const widths = [number, id, from, turns, updated].map((head, index) =>
    Math.max(measureWidth(head), ...rows.map(({ fixed }) => measureWidth(fixed[index] ?? ''))),
  );
  const room = columns - widths.reduce((sum, width) => sum + width + 2, 0) - 2;
  const hasSource = room >= 2 * MIN_WIDTH;
  const left = hasSource ? room : room + (widths[2] ?? 0) + 2;
  const widest = (texts: readonly string[]): number => Math.max(...texts.map(measureWidth));
  const names = Math.min(MAX_NAME, widest(rows.map(({ name, isTitle }) => (isTitle ? `"${name}"` : name))));
  const directories = Math.max(last.length, widest(rows.map(({ directory }) => directory)));
  const directory = Math.max(MIN_WIDTH, Math.min(directories, Math.max(Math.floor(left / 2), left - names)));
  return { name: Math.max(MIN_WIDTH, Math.min(MAX_NAME, left - directory)), directory, hasSource };
}

function truncateEnd(text: string, room: number): string {
  return measureWidth(text) <= room ? text : `${takeGraphemes(splitGraphemes(text), room - 1).join('')}…`;
}

/** Keeps the end of a path, which says more than its start. */
function truncateStart(text: string, room: number): string {
  if (measureWidth(text) <= room) return text;
  return `…${takeGraphemes(splitGraphemes(text).toReversed(), room - 1)
    .toReversed()
    .join('')}`;
}

function takeGraphemes(graphemes: readonly string[], room: number): readonly string[] {
  let width = 0;
  const end = graphemes.findIndex((grapheme) => {
    width += measureWidth(grapheme);
    return width > room;
  });
  return end === -1 ? graphemes : graphemes.slice(0, end);
}
