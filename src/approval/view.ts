import { isList, isObject, type JsonObject, type JsonValue } from '../core/json.ts';
import { formatCount, plural } from '../core/text/format.ts';
import { countInvisible, sanitize } from '../core/text/terminal.ts';
import { measureWidth, splitGraphemes } from '../core/text/width.ts';
import { findChangedWords, pairLines, type WordRun } from '../core/text/word-diff.ts';
import type { Preview } from '../core/tool.ts';
import { loadChalk } from '../render/lazy.ts';

/** A question laid out for a terminal: rows that fit, in which no text can imitate the frame. */
export interface QuestionView {
  readonly title: readonly string[];
  readonly body: readonly string[];
  /** Shown if the body does not fit; absent: the two ends of the body are shown. */
  readonly brief?: readonly string[];
}

export interface ViewOptions {
  readonly columns: number;
  readonly isStyled: boolean;
  /** Yields to the event loop; rejects if the question was aborted. */
  readonly pause: () => Promise<void>;
}

type Style = 'green' | 'red' | 'dim' | 'bold' | 'plain';

/** Longer texts are not measured by grapheme: every non-ASCII character counts as two columns. */
const MAX_MEASURED = 65_536;

/**
 * Lays out what a tool would do. Every character that is invisible or moves others is written as its escape. The model
 * can make the text arbitrarily long, so it is laid out in slices with a pause after each.
 */
export async function questionView(name: string, preview: Preview, options: ViewOptions): Promise<QuestionView> {
  const { columns, isStyled, pause } = options;
  const width = Math.max(columns - 3, 10);
  const chalk = await loadChalk(isStyled);
  const isMeasured = toPreviewText(preview).length <= MAX_MEASURED;
  // A continuation row must not look like a line of its own.
  const frameRow = (row: string, isFirst: boolean, style: Style): string =>
    `${isFirst ? '│' : '┊'} ${style === 'plain' ? row : chalk[style](row)}`.trimEnd();
  const layOutRows = (text: string, style: Style): readonly string[] =>
    wrapRow(text, width, true).map((row, index) => frameRow(row, index === 0, style));
  const body: string[] = [];
  let done = 0;
  for (const slice of slicePreview(preview)) {
    if (slice !== undefined) {
      const takeWords = slice.words && createWordTaker(slice.words);
      for (const [index, row] of wrapRow(slice.text, width, isMeasured).entries()) {
        const words = takeWords?.(row.length).map(({ text, isChanged }) => (isChanged ? chalk.inverse(text) : text));
        body.push(frameRow(words?.join('') ?? row, slice.isFirst && index === 0, slice.style));
      }
    }
    done += slice === undefined ? SLICE : slice.text.length + 1;
    if (done > SLICE) {
      await pause();
      done = 0;
    }
  }
  const hidden = await countUnseen(preview, pause);
  const warning =
    hidden === 0 ? [] : layOutRows(`${plural(hidden, 'character')} that cannot be seen: shown as escapes`, 'bold');
  const [first = '', ...others] = layOutRows(formatQuestionTitle(name, preview), 'bold');
  const claim = formatClaim(preview);
  const about = claim === undefined ? [] : layOutRows(claim, 'dim');
  const loss = formatLoss(preview);
  const lost = loss === undefined ? [] : layOutRows(loss, 'bold');
  return { title: [first.replace('│', '╭'), ...others, ...about, ...lost, ...warning], body };
}

/** The rows of a window that is as wide as its longest row. */
export async function listViewLines(
  name: string,
  preview: Preview,
  pause: () => Promise<void>,
): Promise<readonly string[]> {
  const view = await questionView(name, preview, { columns: Number.POSITIVE_INFINITY, isStyled: false, pause });
  return [...view.title, ...view.body];
}

/** A text of several lines as a question shows it; short blanks at the end of a line stay. */
export function escapeText(text: string): string {
  const lines = [...collapseGaps(iterateLines(text), '')].filter((line) => line !== undefined);
  return lines.map((line) => markLongBlanks(line).split('\t').map(sanitize).join('\t')).join('\n');
}

/** With all texts in it, also its keys, as a question shows them. */
export function escapeValue(value: JsonValue | undefined): JsonValue | undefined {
  if (typeof value === 'string') return escapeText(value.toWellFormed());
  if (isList(value)) return value.map((item) => escapeValue(item) as JsonValue);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value as JsonObject).map(([key, inner]) => [sanitize(key), escapeValue(inner)]),
  );
}

export function groupView(views: readonly QuestionView[], previews: readonly Preview[]): QuestionView {
  const [added, removed] = (['added', 'removed'] as const).map((key) =>
    previews.reduce((sum, preview) => sum + (preview.kind === 'diff' ? preview[key] : 0), 0),
  );
  const inner = views.map(({ title, body }) => ({ title: title.map((line) => line.replace('╭', '├')), body }));
  return {
    title: [`╭ ${plural(views.length, 'change')}  +${added} −${removed}`],
    body: inner.flatMap(({ title, body }) => [...title, ...body]),
    brief: inner.flatMap(({ title }) => title),
  };
}

export function formatQuestionTitle(name: string, preview: Preview): string {
  return `${sanitize(name)} ${formatPreviewTitle(preview)}`;
}

function formatPreviewTitle(preview: Preview): string {
  switch (preview.kind) {
    case 'diff':
      return `${sanitize(preview.path)}  +${preview.added} −${preview.removed}`;
    case 'command':
      return `in ${sanitize(preview.directory)}${preview.isBackground ? ', in the background' : ''}`;
    case 'text':
      return '';
  }
}

const MAX_CLAIM = 200;

/** What the model says a command does. Short, so that it cannot push the command out of sight. */
function formatClaim(preview: Preview): string | undefined {
  if (preview.kind !== 'command' || !preview.description?.trim()) return undefined;
  const claim = sanitize(markBlanks(preview.description.slice(0, MAX_CLAIM).trim()));
  const isShort = preview.description.length <= MAX_CLAIM && claim.length <= MAX_CLAIM;
  return `The model says: ${isShort ? claim : `${claim.slice(0, MAX_CLAIM - 1).toWellFormed()}…`}`;
}

/** A long diff is cut, so that what is missing from the new text is easily overlooked. */
function formatLoss(preview: Preview): string | undefined {
  if (preview.kind !== 'diff' || preview.shrinks === undefined) return undefined;
  const { from, to } = preview.shrinks;
  return `The file shrinks by more than half: from ${formatCount(from)} characters to ${formatCount(to)}`;
}

interface Slice {
  readonly text: string;
  readonly style: Style;
  readonly isFirst: boolean;
  readonly words?: readonly WordRun[];
}

/** Characters laid out between two pauses. */
const SLICE = 8192;

/** The slices of a preview; undefined gives the caller a chance to pause. */
function* slicePreview(preview: Preview): Generator<Slice | undefined> {
  const isDiff = preview.kind === 'diff';
  const start = isDiff && !preview.diff.startsWith('@@') ? preview.diff.indexOf('\n@@') + 1 : 0;
  const text = isDiff ? preview.diff.slice(start).replace(/\n$/, '') : toPreviewText(preview);
  const lines = collapseGaps(iterateLines(text), isDiff ? '+- ' : '');
  if (isDiff && text.length <= MAX_MEASURED) {
    yield* sliceWithWords([...lines].filter((line) => line !== undefined));
    return;
  }
  for (const line of lines) {
    if (line === undefined) yield undefined;
    else yield* sliceLine(line, { isDiff });
  }
}

function showDiffPart(part: string, isFirst: boolean): string {
  const mark = isFirst ? 1 : 0;
  return markTabs(`${part.slice(0, mark)}${markBlanks(part.slice(mark))}`);
}

function* sliceWithWords(lines: readonly string[]): Generator<Slice> {
  for (let at = 0; at < lines.length; ) {
    const removed = countWith(lines, at, '-');
    const added = countWith(lines, at + removed, '+');
    const count = Math.max(1, removed + added);
    const change = lines.slice(at, at + count);
    const others = pairLines(change.slice(0, removed), change.slice(removed));
    for (const [index, line] of change.entries()) yield* sliceLine(line, { isDiff: true, other: others[index] });
    at += count;
  }
}

function countWith(lines: readonly string[], start: number, mark: string): number {
  let end = start;
  while (lines[end]?.startsWith(mark)) end += 1;
  return end - start;
}

/** `other` is the line of a diff that this one replaces, or that replaces it. */
function* sliceLine(
  line: string,
  { isDiff, other }: { readonly isDiff: boolean; readonly other?: string },
): Generator<Slice> {
  const style = isDiff ? pickStyle(line) : 'plain';
  let isFirst = true;
  for (const part of splitParts(line)) {
    const text = isDiff ? showDiffPart(part, isFirst) : sanitize(markBlanks(part));
    const isWhole = part.length === line.length && other !== undefined && other.length <= SLICE;
    const words = isWhole ? findChangedWords(text.slice(1), showDiffPart(other, true).slice(1)) : undefined;
    yield { text, style, isFirst, words: words && [{ text: text.slice(0, 1), isChanged: false }, ...words] };
    isFirst = false;
  }
}

function createWordTaker(words: readonly WordRun[]): (length: number) => readonly WordRun[] {
  let rest = words;
  return (length) => {
    const taken: WordRun[] = [];
    let room = length;
    while (room > 0 && rest[0] !== undefined) {
      const [{ text, isChanged }, ...later] = rest as readonly [WordRun, ...WordRun[]];
      taken.push({ text: text.slice(0, room), isChanged });
      rest = text.length > room ? [{ text: text.slice(room), isChanged }, ...later] : later;
      room -= Math.min(room, text.length);
    }
    return taken;
  };
}

function* iterateLines(text: string): Generator<string> {
  let start = 0;
  for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
    yield text.slice(start, end);
    start = end + 1;
  }
  yield text.slice(start);
}

/** Splits a text into parts of about SLICE characters, never inside a character, before its marks, inside a CRLF or after a blank. */
function* splitParts(text: string): Generator<string> {
  let start = 0;
  while (text.length - start > SLICE) {
    let end = start + SLICE;
    while (end < text.length && continuesAt(text, end) && end - start < 2 * SLICE) end += 1;
    yield text.slice(start, end);
    start = end;
  }
  yield text.slice(start);
}

function continuesAt(text: string, end: number): boolean {
  return /[ \t\r\ud800-\udbff]/.test(text.charAt(end - 1)) || /^\p{M}/u.test(text.slice(end, end + 2));
}

/** Longer runs of blank lines are replaced by a count: they could push what matters out of sight. */
const MAX_GAP = 3;
const BLANKS = /(?<![ \t])[ \t]{11,}/g;
/** In columns; a tab has four. */
const MAX_BLANKS = 40;

export function markBlanks(line: string): string {
  return markLongBlanks(line).replace(/(?<! ) +$/, countBlanks);
}

function markLongBlanks(line: string): string {
  return line.replace(BLANKS, (run) => {
    const tabs = run.split('\t').length - 1;
    return run.length + 3 * tabs > MAX_BLANKS ? countBlanks(run) : run;
  });
}

function countBlanks(run: string): string {
  const name = !run.includes('\t') ? 'space' : run.includes(' ') ? 'blank' : 'tab';
  return `⟨${plural(run.length, name)}⟩`;
}

/**
 * Replaces runs of blank lines with the same diff mark by one line with their count. Without marks, any blank lines.
 * Yields undefined now and then inside a very long run.
 */
function* collapseGaps(lines: Iterable<string>, marks: string): Generator<string | undefined> {
  let gap: string[] = [];
  let length = 0;
  let isEmpty = true;
  let mark = '';
  const endGap = (): readonly string[] => {
    const shown = length > MAX_GAP ? [`${mark}⟨${length} ${isEmpty ? 'empty' : 'blank'} lines⟩`] : gap;
    gap = [];
    length = 0;
    isEmpty = true;
    return shown;
  };
  for (const line of lines) {
    const own = marks === '' ? '' : line.slice(0, 1);
    const isBlank = (marks === '' || (own !== '' && marks.includes(own))) && /^[ \t]*\r?$/.test(line.slice(own.length));
    if (!isBlank || own !== mark) yield* endGap();
    mark = own;
    if (!isBlank) {
      yield line;
      continue;
    }
    if (length < MAX_GAP) gap.push(line);
    length += 1;
    isEmpty &&= line === mark;
    if (length % SLICE === 0) yield undefined;
  }
  yield* endGap();
}

function pickStyle(line: string): Style {
  if (line.startsWith('+')) return 'green';
  if (line.startsWith('-')) return 'red';
  return line.startsWith('@@') || line.startsWith('\\') ? 'dim' : 'plain';
}

/** Tabs in a file are legitimate, so they are shown as an arrow and keep their width. */
function markTabs(line: string): string {
  return line.split('\t').map(sanitize).join('→   ');
}

async function countUnseen(preview: Preview, pause: () => Promise<void>): Promise<number> {
  const seen = preview.kind === 'diff' ? /\r?\n|\t/g : /\n/g;
  let count = 0;
  for (const part of splitParts(toPreviewText(preview))) {
    count += countInvisible(part.replace(seen, ''));
    if (part.length >= SLICE) await pause();
  }
  return count;
}

function toPreviewText(preview: Preview): string {
  switch (preview.kind) {
    case 'diff':
      return preview.diff;
    case 'command':
      return preview.command;
    case 'text':
      return preview.text;
  }
}

function wrapRow(text: string, width: number, isMeasured: boolean): readonly string[] {
  if (text.length * 2 <= width) return [text];
  const rows: string[] = [];
  if (/^[ -~]*$/.test(text)) {
    for (let start = 0; start < text.length; start += width) rows.push(text.slice(start, start + width));
    return rows;
  }
  let row = '';
  let used = 0;
  for (const character of isMeasured ? splitGraphemes(text) : text) {
    const size = isMeasured ? measureWidth(character) : estimateCharacterWidth(character);
    if (used + size > width && row !== '') {
      rows.push(row);
      row = '';
      used = 0;
    }
    row += character;
    used += size;
  }
  return [...rows, row];
}

function estimateCharacterWidth(character: string): number {
  if (character <= '~') return 1;
  return /[\p{Mn}\p{Me}]/u.test(character) ? 0 : 2;
}
