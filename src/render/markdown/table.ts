import type { Tokens } from 'marked';
import { measureWidth } from '../../core/text/width.ts';
import { toSpans } from './inline.ts';
import { plainPaint, type Theme } from './theme.ts';
import { joinSpans, type Span, wrapSpans } from './wrap.ts';

interface Cell {
  readonly spans: readonly Span[];
  readonly text: string;
  readonly width: number;
}

const SEPARATOR = ' │ ';

/**
 * A table in aligned columns; as a list of `name: value` if it is too wide; as written if a row has more cells than the
 * header.
 */
export function tableLines(table: Tokens.Table, theme: Theme, width: number): string[] {
  if (!hasAllWords(table)) return table.raw.trimEnd().split('\n');
  const header = table.header.map((cell) => toCell(cell, theme, theme.strong));
  const rows = table.rows.map((row) => row.map((cell) => toCell(cell, theme, plainPaint)));
  const widths = header.map((cell, column) =>
    rows.reduce((widest, row) => Math.max(widest, row[column]?.width ?? 0), cell.width),
  );
  const total = widths.reduce((sum, next) => sum + next, 0) + SEPARATOR.length * (widths.length - 1);
  if (total > width && rows.length > 0) return tableAsList(header, rows, width);
  const separator = theme.faint(SEPARATOR);
  const line = (row: readonly Cell[]): string =>
    row
      .map((cell, column) => alignCell(cell, widths[column] ?? 0, table.align[column] ?? 'left'))
      .join(separator)
      .trimEnd();
  const rule = theme.faint(widths.map((columns) => '─'.repeat(columns)).join('─┼─'));
  return [line(header), rule, ...rows.map(line)];
}

/** Whether every word is in a cell: as GFM requires, the lexer drops cells beyond the last column. */
export function hasAllWords({ raw, header, rows }: Tokens.Table): boolean {
  const cells = [header, ...rows].flat();
  return stripToWords(raw) === stripToWords(cells.map((cell) => cell.text).join(''));
}

/** One `name: value` per line, an empty line between rows. */
function tableAsList(header: readonly Cell[], rows: readonly (readonly Cell[])[], width: number): string[] {
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

function alignCell({ text, width }: Cell, columns: number, align: 'left' | 'right' | 'center'): string {
  const room = Math.max(0, columns - width);
  const before = align === 'right' ? room : align === 'center' ? Math.floor(room / 2) : 0;
  return ' '.repeat(before) + text + ' '.repeat(room - before);
}

function stripToWords(text: string): string {
  return text.replace(/[^\p{L}\p{N}]+/gu, '');
}
