/** Text on a row, or, with a width of 0, a change of style. */
export interface Piece {
  readonly text: string;
  readonly width: number;
}

export type Row = readonly Piece[];

export interface Cell {
  readonly row: number;
  readonly column: number;
}

/** Rows on the screen, none of them wrapped by the terminal, and the position of the cursor. */
export interface Frame {
  readonly rows: readonly Row[];
  readonly caret: Cell;
}

const ERASE_BELOW = '\u001b[J';
const ERASE_RIGHT = '\u001b[K';

/** The output that replaces `before` by `next`; without a `before`, the cursor is at the start of a free row. */
export function diffFrames(before: Frame | undefined, next: Frame): string {
  let output = '';
  let at = before?.caret ?? { row: 0, column: 0 };
  let made = before?.rows.length ?? 1;
  const goTo = (cell: Cell): void => {
    output += moveCursor(at, cell, made);
    made = Math.max(made, cell.row + 1);
    at = cell;
  };
  for (const [index, row] of next.rows.entries()) {
    const old = before?.rows[index] ?? [];
    const same = countUnchanged(old, row);
    if (same < row.length || same < old.length) {
      goTo({ row: index, column: measureRow(row.slice(0, same)) });
      output += row
        .slice(same)
        .map(({ text }) => text)
        .join('');
      at = { row: index, column: measureRow(row) };
      if (measureRow(old) > measureRow(row)) output += ERASE_RIGHT;
    } else if (index >= made) goTo({ row: index, column: 0 });
  }
  if (made > next.rows.length) {
    goTo({ row: next.rows.length, column: 0 });
    output += ERASE_BELOW;
  }
  goTo(next.caret);
  return output;
}

/** The output that moves the cursor to the start of a free row below the frame, which was drawn for so many columns. */
export function moveBelow({ rows, caret }: Frame, columns: number): string {
  const last = rows.length - 1;
  // A full row is followed by a row for the caret. If that is empty, it is the free one.
  const isFree = measureRow(rows[last - 1] ?? []) === columns && rows[last]?.every(({ text }) => text === ' ');
  return `${moveCursor(caret, { row: last, column: 0 }, rows.length)}${isFree ? ERASE_RIGHT : '\n'}`;
}

/** The output that removes the frame; the cursor ends where its first row began. */
export function eraseFrame({ rows, caret }: Frame): string {
  const start = `${moveCursor(caret, { row: 0, column: 0 }, caret.row + 1)}\r`;
  // If a whole window is erased from its first cell on, tmux moves it into its history. The cursor must not move down and
  // back, because the row below may be gone.
  const hasMore = rows.length > 1 || caret.row > 0;
  return start + (hasMore ? `${ERASE_RIGHT}\u001b[1C${ERASE_BELOW}\r` : ERASE_BELOW);
}

/** After the width changed, as `eraseFrame` needs it: terminals that rewrap break the rows that no longer fit. */
export function rewrapFrame({ rows, caret }: Frame, columns: number): Frame {
  const above = rows.slice(0, caret.row).reduce((sum, row) => sum + measureWrapped(row, columns).row + 1, 0);
  const within = measureWrapped(rows[caret.row] ?? [], columns, caret.column);
  return { rows, caret: { row: above + within.row, column: within.column } };
}

/**
 * Where the cursor is after `end` cells of a row that the terminal has wrapped. A character too wide for the rest of a
 * row goes to the next one; after a full last row, the cursor stays at its edge.
 */
function measureWrapped(row: Row, columns: number, end = Number.POSITIVE_INFINITY): Cell {
  let at = { row: 0, column: 0 };
  let passed = 0;
  for (const { width } of row) {
    if (width === 0) continue;
    if (at.column > 0 && at.column + width > columns) at = { row: at.row + 1, column: 0 };
    if (passed >= end) break;
    at = { row: at.row, column: at.column + width };
    passed += width;
  }
  return at;
}

function measureRow(row: Row): number {
  return row.reduce((sum, { width }) => sum + width, 0);
}

/** How many leading pieces need not be written again; 0 if the rest would begin inside a style. */
function countUnchanged(old: Row, row: Row): number {
  const differs = row.findIndex(({ text, width }, index) => text !== old[index]?.text || width !== old[index].width);
  const same = differs === -1 ? row.length : differs;
  const style = row.slice(0, same).findLast(({ width }) => width === 0);
  return style === undefined || style.text === '\u001b[0m'
    ? same
    : same === row.length && same === old.length
      ? same
      : 0;
}

/** Only CR leaves the edge of a full row in the same way on all terminals, and only LF adds a row at the bottom. */
function moveCursor(from: Cell, to: Cell, made: number): string {
  if (from.row === to.row && from.column === to.column) return '';
  const down = Math.min(to.row, made - 1) - from.row;
  const vertical = down === 0 ? '' : down < 0 ? `\u001b[${-down}A` : `\u001b[${down}B`;
  const horizontal = to.column === 0 ? '' : `\u001b[${to.column}C`;
  return `\r${vertical}${'\n'.repeat(Math.max(0, to.row - made + 1))}${horizontal}`;
}
