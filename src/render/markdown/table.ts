import type { Tokens } from 'marked';
import { measureWidth } from '../../core/text/width.ts';
import { toSpans } from './inline.ts';
import { plainPaint, stripPaint, type Theme } from './theme.ts';
import { joinSpans, type Span, wrapSpans } from './wrap.ts';

interface Cell {
  readonly spans: readonly Span[];
  readonly text: string;
  readonly width: number;
}

const SEPARATOR = ' │ ';

/** Columns are not made narrower than this, except for those that need no more. */
const MIN_COLUMN = 12;

/** What the rows that follow must know of a table: the widths of its columns; undefined if it is shown as a list. */
export type TableShape = ColumnWidths | 'as written';

type ColumnWidths = readonly number[] | undefined;

/**
 * A table in aligned columns, its cells wrapped where the window is too narrow; as a list of `name: value` if a column
 * would become too narrow; as written if a row has more cells than the header.
 */
export function tableLines(table: Tokens.Table, theme: Theme, width: number): readonly string[] {
  if (!hasAllWords(table)) return table.raw.trimEnd().split('\n');
  const cells = toCells(table, theme);
  const { header, rows } = cells;
  const shape = chooseWidths(cells, width) ?? (rows.length === 0 ? header.map((cell) => cell.width) : undefined);
  if (shape === undefined) return tableAsList(header, rows, width);
  const rule = theme.faint(shape.map((columns) => '─'.repeat(columns)).join('─┼─'));
  return [...rowLines(header, table, { shape, theme }), rule, ...bodyLines(rows, table, { shape, theme })];
}

export function continuedLines(table: Tokens.Table, shape: TableShape, theme: Theme, width: number): readonly string[] {
  if (shape === 'as written' || !hasAllWords(table)) return table.raw.trimEnd().split('\n').slice(2);
  const { header, rows } = toCells(table, theme);
  if (shape === undefined) return rows.length > 0 ? ['', ...tableAsList(header, rows, width)] : [];
  return bodyLines(rows, table, { shape, theme });
}

export function chooseShape(table: Tokens.Table, theme: Theme, width: number): ColumnWidths {
  return chooseWidths(toCells(table, theme), width);
}

/** Words are broken only if there is no other way. */
function chooseWidths({ header, rows }: Cells, width: number): ColumnWidths {
  const measure = (by: (cell: Cell) => number): readonly number[] =>
    header.map((cell, column) => rows.reduce((widest, row) => Math.max(widest, by(row[column] ?? cell)), by(cell)));
  const wanted = measure((cell) => cell.width);
  const room = width - SEPARATOR.length * (wanted.length - 1);
  const least = (widths: readonly number[]): readonly number[] =>
    widths.map((columns, index) => Math.min(wanted[index] ?? 0, Math.max(MIN_COLUMN, columns)));
  return (
    fitColumns(wanted, least(measure(measureLongestWord)), room) ?? fitColumns(wanted, least([...wanted].fill(0)), room)
  );
}

/** Shares the room that the least widths leave; undefined if there is none. */
function fitColumns(wanted: readonly number[], least: readonly number[], room: number): ColumnWidths {
  let rest = room - least.reduce((sum, columns) => sum + columns, 0);
  if (rest < 0) return undefined;
  const widths = [...least];
  const want = (column: number): number => (wanted[column] ?? 0) - (least[column] ?? 0);
  for (const [place, column] of [...wanted.keys()].sort((one, other) => want(one) - want(other)).entries()) {
    const more = Math.min(want(column), Math.floor(rest / (wanted.length - place)));
    widths[column] = (least[column] ?? 0) + more;
    rest -= more;
  }
  return widths;
}

function measureLongestWord({ spans, width }: Cell): number {
  if (width <= MIN_COLUMN) return width;
  const words =
    spans
      .map(({ text }) => text)
      .join('')
      .match(/[\x21-\x7e\u00a1-\u02af\u0370-\u1fff]+/g) ?? [];
  return words.reduce((longest, word) => Math.max(longest, measureWidth(word)), 0);
}

interface TableLook {
  readonly shape: readonly number[];
  readonly theme: Theme;
}

function bodyLines(rows: readonly (readonly Cell[])[], table: Tokens.Table, look: TableLook): readonly string[] {
  const wrapped = rows.map((row) => rowLines(row, table, look));
  // Rows of several lines are told apart by an empty line.
  const isOpen = wrapped.some((lines) => lines.length > 1);
  return wrapped.flatMap((lines, index) => (isOpen && index > 0 ? [emptyRow(look), ...lines] : lines));
}

function emptyRow({ shape, theme }: TableLook): string {
  return shape
    .map((columns) => ' '.repeat(columns))
    .join(theme.faint(SEPARATOR))
    .trimEnd();
}

function rowLines(row: readonly Cell[], { align }: Tokens.Table, { shape, theme }: TableLook): readonly string[] {
  const cells = row.map((cell, column) => wrapCell(cell, shape[column] ?? 0));
  const height = Math.max(1, ...cells.map((lines) => lines.length));
  return Array.from({ length: height }, (_, line) =>
    cells
      .map((lines, column) => alignCell(lines[line] ?? EMPTY, shape[column] ?? 0, align[column] ?? 'left'))
      .join(theme.faint(SEPARATOR))
      .trimEnd(),
  );
}

interface CellLine {
  readonly text: string;
  readonly width: number;
}

const EMPTY: CellLine = { text: '', width: 0 };

function wrapCell(cell: Cell, columns: number): readonly CellLine[] {
  if (cell.width <= columns) return [cell];
  return wrapSpans(cell.spans, columns, { breaksLongWords: true }).map((text) => ({
    text,
    width: measureWidth(stripPaint(text)),
  }));
}

interface Cells {
  readonly header: readonly Cell[];
  readonly rows: readonly (readonly Cell[])[];
}

function toCells(table: Tokens.Table, theme: Theme): Cells {
  return {
    header: table.header.map((cell) => toCell(cell, theme, theme.strong)),
    rows: table.rows.map((row) => row.map((cell) => toCell(cell, theme, plainPaint))),
  };
}

/** Whether every word is in a cell: as GFM requires, the lexer drops cells beyond the last column. */
export function hasAllWords({ raw, header, rows }: Tokens.Table): boolean {
  const cells = [header, ...rows].flat();
  return stripToWords(raw) === stripToWords(cells.map((cell) => cell.text).join(''));
}

function tableAsList(header: readonly Cell[], rows: readonly (readonly Cell[])[], width: number): readonly string[] {
  const lines: string[] = [];
  for (const row of rows) {
    if (lines.length > 0) lines.push('');
    for (const [column, cell] of row.entries()) {
      const name = header[column]?.spans ?? [];
      const [first = '', ...rest] = wrapSpans(
        [...name, { text: ': ', paint: plainPaint }, ...flattenSpans(cell.spans)],
        width - 2,
      );
      lines.push(first, ...rest.map((line) => `  ${line}`));
    }
  }
  return lines;
}

function toCell(cell: Tokens.TableCell, theme: Theme, paint: Span['paint']): Cell {
  const spans = flattenSpans(toSpans(cell.tokens, theme, paint));
  return { spans, text: joinSpans(spans), width: measureWidth(spans.map((span) => span.text).join('')) };
}

function flattenSpans(spans: readonly Span[]): readonly Span[] {
  return spans.map((span) => ({ ...span, text: span.text.replaceAll('\n', ' ') }));
}

function alignCell({ text, width }: CellLine, columns: number, align: 'left' | 'right' | 'center'): string {
  const room = Math.max(0, columns - width);
  const before = align === 'right' ? room : align === 'center' ? Math.floor(room / 2) : 0;
  return ' '.repeat(before) + text + ' '.repeat(room - before);
}

function stripToWords(text: string): string {
  return text.replace(/[^\p{L}\p{N}]+/gu, '');
}
