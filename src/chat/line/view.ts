import type { Cell, Frame, Row } from '../../core/text/frame.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { measureWidth, truncateEnd, wrapText } from '../../core/text/width.ts';
import { clipRow, type Layout, layOut } from './layout.ts';
import type { Menu, Search } from './state.ts';

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

export type Below =
  | { readonly kind: 'menu'; readonly menu: Menu }
  | { readonly kind: 'search'; readonly search: Search }
  | { readonly kind: 'notice' | 'status'; readonly text: string };

const MENU_ROWS = 8;
const MARGIN = '  ';
const GAP = '  ';
/** Columns that a long name leaves for hints, which begin in the same column. */
const MIN_HINT = 12;
const DIM = '\u001b[2m';
const MARKED = '\u001b[7m';
const PLAIN = '\u001b[0m';

interface ViewOptions {
  readonly size: Size;
  readonly isStyled: boolean;
  readonly top: number;
}

/**
 * The frame of the line and what is below it, cut to the window so that the caret is visible. `top` is the first row
 * shown.
 */
export function layOutFrame(
  { rows, caret }: Layout,
  below: Below | undefined,
  { size, isStyled, top }: ViewOptions,
): { readonly frame: Frame; readonly top: number } {
  const foot = layOutFoot(below, size, isStyled);
  const height = Math.max(1, size.rows - foot.rows.length);
  const first = Math.max(0, Math.min(top, caret.row, rows.length - height), caret.row - height + 1);
  const shown = rows.slice(first, first + height);
  const cell = { row: caret.row - first, column: caret.column };
  const footCell = foot.caret && { row: shown.length + foot.caret.row, column: foot.caret.column };
  return { frame: { rows: [...shown, ...foot.rows], caret: footCell ?? cell }, top: first };
}

interface Foot {
  readonly rows: readonly Row[];
  readonly caret?: Cell;
}

function layOutFoot(below: Below | undefined, size: Size, isStyled: boolean): Foot {
  const room = Math.max(0, size.rows - 1);
  switch (below?.kind) {
    case undefined:
      return { rows: [] };
    case 'notice': {
      const rows = wrapText(below.text, size.columns - 1).split('\n');
      return { rows: rows.slice(0, room).map((row) => clipRow(applyStyle(row, DIM, isStyled), size.columns - 1)) };
    }
    case 'status':
      return { rows: [clipRow(applyStyle(below.text, DIM, isStyled), size.columns - 1)].slice(0, room) };
    case 'menu':
      return { rows: layOutMenu(below.menu, { columns: size.columns, rows: Math.min(room, MENU_ROWS + 1) }, isStyled) };
    case 'search': {
      const { query, hasFailed } = below.search;
      const prompt = hasFailed ? 'not found: ' : 'search: ';
      const { rows, caret } = layOut({ prompt, text: query, caret: query.length, columns: size.columns });
      // Show the end of the query: that is where the user types.
      const first = Math.max(0, caret.row - room + 1);
      return room === 0 ? { rows: [] } : { rows: rows.slice(first), caret: { ...caret, row: caret.row - first } };
    }
  }
}

/** The part of a list around the chosen candidate; its last row says how many follow, if any do. */
export function layOutMenu(
  { candidates, chosen }: Pick<Menu, 'candidates' | 'chosen'>,
  { columns, rows: height }: Size,
  isStyled: boolean,
): readonly Row[] {
  if (height <= 0) return [];
  const count = candidates.length <= height ? height : Math.max(1, height - 1);
  const start = Math.max(0, Math.min(chosen - count + 1, candidates.length - count));
  const shown = candidates.slice(start, start + count);
  const names = shown.map(({ insert, label = insert.trimEnd() }) => sanitize(label));
  const hints = shown.map(({ hint = '' }) => sanitize(hint));
  const hintWidth = Math.min(Math.max(...hints.map(measureWidth)), MIN_HINT);
  const room = columns - 1 - MARGIN.length - (hintWidth === 0 ? 0 : GAP.length + hintWidth);
  const width = Math.min(Math.max(...names.map(measureWidth)), Math.max(1, room));
  const rows = shown.map((_, index) => {
    const name = truncateEnd(names[index] ?? '', width);
    const hint = hints[index] ?? '';
    const isChosen = start + index === chosen;
    const text = `${isChosen ? '› ' : MARGIN}${isChosen ? applyStyle(name, MARKED, isStyled) : name}`;
    if (hint === '') return text;
    const before = text + ' '.repeat(width - measureWidth(name)) + GAP;
    return before + applyStyle(truncateEnd(hint, columns - 1 - MARGIN.length - width - GAP.length), DIM, isStyled);
  });
  const more = candidates.length - start - shown.length;
  if (more > 0 && height > 1) rows.push(applyStyle(`  … ${more} more`, DIM, isStyled));
  return rows.map((row) => clipRow(row, columns - 1));
}

function applyStyle(text: string, style: string, isStyled: boolean): string {
  return isStyled ? `${style}${text}${PLAIN}` : text;
}
