import { printPaged } from '../../app/output.ts';
import { pruneIfDue } from '../../app/prune.ts';
import { formatTable, type PrintOptions } from '../../app/report.ts';
import { formatName, toSessionJson, toSessionsDirectory } from '../../app/sessions.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { type SessionStore, type SessionSummary, SOURCE_LABELS } from '../../core/session.ts';
import { formatAge } from '../../core/text/format.ts';
import { shortenId } from '../../core/text/names.ts';
import { shortenPath } from '../../core/text/path.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { measureWidth, truncateEnd, truncateStart } from '../../core/text/width.ts';
import { openStore } from '../../engine/session/sessions.ts';
import { realPath } from '../../platform/files/path.ts';
import { createStderr } from '../../render/stderr.ts';
import { checkReadable } from '../../session/find.ts';

interface ListOptions extends PrintOptions {
  readonly all?: boolean;
  readonly gemini?: boolean;
  readonly grep?: string;
  /** How many are listed at most; 0 means all. */
  readonly limit?: number;
  readonly from?: (typeof SOURCE_LABELS)[keyof typeof SOURCE_LABELS];
  /** `whole-ids`: the table with full ids; `official`: the format of `gemini --list-sessions`. Short ids by default. */
  readonly layout?: 'whole-ids' | 'official';
}

/** Applies on a terminal only; a pipe gets all. */
const DEFAULT_LIMIT = 20;
const MAX_NAME = 40;
const MIN_WIDTH = 12;
const HEADERS = ['#', 'ID', 'NAME', 'FROM', 'TURNS', 'UPDATED', 'DIRECTORY'] as const;

/**
 * Lists the saved sessions of this directory, or all: newest first, each with the number that `-r` accepts. Throws
 * AppError `config` if they cannot be read.
 */
export async function run(options: ListOptions, app: App): Promise<number> {
  checkListUsage(options);
  if (options.gemini) return (await import('./import.ts')).listOfficial(options, app);
  await pruneIfDue(app);
  const here = realPath(app.cwd) ?? app.cwd;
  const store = openStore(app, () => {});
  const all = (await store.list()).map((session, index) => ({ number: index + 1, session }));
  if (all.length === 0) checkReadable(toSessionsDirectory(app));
  const wanted = all.filter(
    ({ session }) => options.from === undefined || SOURCE_LABELS[session.source] === options.from,
  );
  const local = options.all ? wanted : wanted.filter(({ session }) => session.cwd === here);
  const others = wanted.length - local.length;
  const found = options.grep === undefined ? local : await searchSessions(local, options.grep, { store, app });
  const shown = found.slice(0, findLimit(options, app));
  if (options.layout === 'official' && !options.json) {
    await app.io.out.write(formatOfficial(shown, app));
    return 0;
  }
  const isWhole = options.layout === 'whole-ids';
  const rows = shown.map(({ number, session }) => formatListRow(number, session, { app, isWhole }));
  const formatSessionTable = (room: ColumnWidths): string =>
    rows.length === 0
      ? ''
      : formatTable([
          HEADERS.filter((head) => room.hasSource || head !== 'FROM'),
          ...rows.map((row) => toSessionCells(row, room)),
        ]);
  await printPaged(
    {
      text: formatSessionTable({ name: MAX_NAME, directory: Number.POSITIVE_INFINITY, hasSource: true }),
      narrow: (columns) => formatSessionTable(fitSessionColumns(rows, columns)),
      json: { sessions: shown.map(({ number, session }) => ({ number, ...toSessionJson(session) })) },
      notices: options.json ? [] : listNotices(found.length, others, options),
    },
    options,
    app,
  );
  if (shown.length < found.length && !options.json && !options.quiet) {
    const command = formatListCommand(options, ...(options.all ? ['--all'] : []), '--limit', '0');
    await createStderr(app.io.err).notice(`${found.length - shown.length} more; to see them all: ${command}`);
  }
  return 0;
}

function checkListUsage({ gemini, grep, limit }: ListOptions): void {
  if (limit !== undefined && limit < 0) {
    throw new AppError('usage', '--limit takes a number of sessions', { hint: 'Example: --limit 50; 0 lists all.' });
  }
  if (gemini && (grep !== undefined || limit !== undefined)) {
    throw new AppError('usage', '--gemini cannot be combined with --grep and --limit', {
      hint: 'Import the session first: gmn sessions import <session>',
    });
  }
}

function findLimit({ limit, json, layout }: ListOptions, { io }: App): number | undefined {
  if (limit !== undefined) return limit === 0 ? undefined : limit;
  return io.out.isTerminal && !json && layout === undefined ? DEFAULT_LIMIT : undefined;
}

/** The sessions that have every word, whatever its case. Reads their text only where name and title do not decide. */
async function searchSessions(
  sessions: readonly Numbered[],
  grep: string,
  { store, app }: { readonly store: SessionStore; readonly app: App },
): Promise<readonly Numbered[]> {
  const words = grep.toLowerCase().split(/\s+/).filter(Boolean);
  const found: Numbered[] = [];
  for (const numbered of sessions) {
    app.signal.throwIfAborted();
    const { name = '', title } = numbered.session;
    const heading = `${name}\n${title}`.toLowerCase();
    const missing = words.filter((word) => !heading.includes(word));
    if (missing.length === 0 || (await hasWords(store, numbered.session, missing))) found.push(numbered);
  }
  return found;
}

/** A session that cannot be read has none. */
async function hasWords(store: SessionStore, session: SessionSummary, words: readonly string[]): Promise<boolean> {
  const saved = await store.read(session).catch(() => undefined);
  const missing = new Set(words);
  for (const part of saved?.records.flatMap(({ content }) => content.parts) ?? []) {
    const text = 'text' in part ? part.text.toLowerCase() : '';
    for (const word of missing) if (text.includes(word)) missing.delete(word);
  }
  return missing.size === 0;
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
      const label = formatName(name ?? title);
      return `  ${number}. ${label} (${formatAge(updatedAt, app.clock.now())}) [${id}]\n`;
    });
  return `\nAvailable sessions for this project (${shown.length}):\n\n${lines.join('')}`;
}

/** `others` counts sessions of other directories, whether they match the words or not. */
function listNotices(found: number, others: number, options: ListOptions): readonly string[] {
  const { from, grep } = options;
  const kind = `${from === undefined ? 'sessions' : `${from} sessions`}${grep === undefined ? '' : ' with these words'}`;
  if (others > 0) {
    const more = found === 0 ? `no ${kind} of this directory` : `${others} more of other directories`;
    return [`${more}; to see them all: ${formatListCommand(options, '--all')}`];
  }
  if (found > 0) return [];
  return [grep === undefined ? `no ${kind} are saved yet` : `there are no ${kind}`];
}

function formatListCommand({ from, grep }: ListOptions, ...flags: readonly string[]): string {
  const filters = [
    ...(from === undefined ? [] : ['--from', from]),
    ...(grep === undefined ? [] : ['--grep', JSON.stringify(sanitize(grep))]),
  ];
  return ['gmn sessions list', ...flags, ...filters].join(' ');
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
  readonly hasSource: boolean;
}

function formatListRow(
  number: number,
  { id, name, title, source, turns, updatedAt, cwd }: SessionSummary,
  { app, isWhole }: { readonly app: App; readonly isWhole: boolean },
): Row {
  const shownId = isWhole ? id : shortenId(id);
  return {
    fixed: [String(number), shownId, SOURCE_LABELS[source], String(turns), formatAge(updatedAt, app.clock.now())],
    name: formatName(name ?? title),
    isTitle: name === undefined,
    directory: sanitize(shortenPath(cwd, app.env.HOME)),
  };
}

function toSessionCells({ fixed, name, isTitle, directory }: Row, room: ColumnWidths): readonly string[] {
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

function fitSessionColumns(rows: readonly Row[], columns: number): ColumnWidths {
  const [number, id, , from, turns, updated, last] = HEADERS;
  const widths = [number, id, from, turns, updated].map((head, index) =>
    Math.max(measureWidth(head), ...rows.map(({ fixed }) => measureWidth(fixed[index] ?? ''))),
  );
  const room = columns - widths.reduce((sum, width) => sum + width + 2, 0) - 2;
  const hasSource = room >= 2 * MIN_WIDTH;
  const left = hasSource ? room : room + (widths[2] ?? 0) + 2;
  const findWidest = (texts: readonly string[]): number => Math.max(...texts.map(measureWidth));
  const names = Math.min(MAX_NAME, findWidest(rows.map(({ name, isTitle }) => (isTitle ? `"${name}"` : name))));
  const directories = Math.max(last.length, findWidest(rows.map(({ directory }) => directory)));
  const directory = Math.max(MIN_WIDTH, Math.min(directories, Math.max(Math.floor(left / 2), left - names)));
  return { name: Math.max(MIN_WIDTH, Math.min(MAX_NAME, left - directory)), directory, hasSource };
}
