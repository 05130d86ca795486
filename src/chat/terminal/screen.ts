import type { Out } from '../../core/io.ts';

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

/** Draws the line on the terminal. Other output may be written only while no frame is drawn. */
export interface Screen {
  /** Draws a frame, for this window width, over the previous one. Writes nothing if nothing changed. */
  show(frame: Frame, columns: number): void;
  erase(): void;
  /** Leaves the frame on the screen and moves the cursor to a free row below it. */
  moveBelow(): void;
  clear(): void;
  /** Call after other output: the next frame starts at the cursor. */
  startBelow(): void;
}

/** `isPlain` is for a terminal that can only print. */
export function createScreen(err: Out, isPlain: boolean): Screen {
  let drawn: Frame | undefined;
  let drawnColumns = 0;
  const paint = isPlain ? diffPlainly : diffFrames;
  const write = (text: string): void => {
    if (text === '') return;
    // Not awaited: the terminal receives writes in order.
    err.write(text).catch(() => {});
  };
  const forget = (): void => {
    drawn = undefined;
  };
  const finish = (ending: (frame: Frame) => string): void => {
    if (drawn !== undefined) write(isPlain ? '\n' : ending(drawn));
    forget();
  };
  return {
    show(frame, columns) {
      // The terminal has rewrapped the previous frame.
      if (columns !== drawnColumns) finish((before) => eraseFrame(rewrapFrame(before, columns)));
      write(paint(drawn, frame));
      drawn = frame;
      drawnColumns = columns;
    },
    erase: () => finish(eraseFrame),
    moveBelow: () => finish(moveBelow),
    clear() {
      if (!isPlain) write('\u001b[H\u001b[2J');
      forget();
    },
    startBelow: forget,
  };
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
      goTo({ row: index, column: rowWidth(row.slice(0, same)) });
      output += row
        .slice(same)
        .map(({ text }) => text)
        .join('');
      at = { row: index, column: rowWidth(row) };
      if (rowWidth(old) > rowWidth(row)) output += ERASE_RIGHT;
    } else if (index >= made) goTo({ row: index, column: 0 });
  }
  if (made > next.rows.length) {
    goTo({ row: next.rows.length, column: 0 });
    output += ERASE_BELOW;
  }
  goTo(next.caret);
  return output;
}

/** The output that moves the cursor to the start of a free row below the frame. */
export function moveBelow(frame: Frame): string {
  const last = frame.rows.length - 1;
  return `${moveCursor(frame.caret, { row: last, column: 0 }, frame.rows.length)}\n`;
}

/** The output that removes the frame; the cursor ends where its first row began. */
export function eraseFrame({ caret }: Frame): string {
  return `${moveCursor(caret, { row: 0, column: 0 }, caret.row + 1)}\r${ERASE_BELOW}`;
}

/**
 * The frame after the window's width changed, as `eraseFrame` needs it: terminals that rewrap break the rows that no
 * longer fit.
 */
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

function rowWidth(row: Row): number {
  return row.reduce((sum, { width }) => sum + width, 0);
}

/** How many leading pieces need not be written again; 0 if the rest would begin inside a style. */
function countUnchanged(old: Row, row: Row): number {
  const differs = row.findIndex((piece, index) => !isSamePiece(piece, old[index]));
  const same = differs === -1 ? row.length : differs;
  const style = row.slice(0, same).findLast(({ width }) => width === 0);
  return style === undefined || style.text === '\u001b[0m'
    ? same
    : same === row.length && same === old.length
      ? same
      : 0;
}

function isSamePiece(piece: Piece, other: Piece | undefined): boolean {
  return piece.text === other?.text && piece.width === other.width;
}

/** Only CR leaves the edge of a full row in the same way on all terminals, and only LF adds a row at the bottom. */
function moveCursor(from: Cell, to: Cell, made: number): string {
  if (from.row === to.row && from.column === to.column) return '';
  const down = Math.min(to.row, made - 1) - from.row;
  const vertical = down === 0 ? '' : down < 0 ? `\u001b[${-down}A` : `\u001b[${down}B`;
  const horizontal = to.column === 0 ? '' : `\u001b[${to.column}C`;
  return `\r${vertical}${'\n'.repeat(Math.max(0, to.row - made + 1))}${horizontal}`;
}

/** Like `diffFrames` for a terminal that can only print and go back a column: the line grows and shrinks at its end. */
function diffPlainly(before: Frame | undefined, next: Frame): string {
  const old = joinFrame(before);
  const text = joinFrame(next);
  if (text === old && before !== undefined) return '';
  if (text.startsWith(old)) return text.slice(old.length);
  const gone = lastRow(before).slice(countCommon(lastRow(before), lastRow(next)));
  const hasOneRow = before?.rows.length === 1 && next.rows.length === 1;
  if (!hasOneRow || !old.startsWith(text)) return `\n${text}`;
  const columns = gone.reduce((sum, { width }) => sum + width, 0);
  return `${'\b'.repeat(columns)}${' '.repeat(columns)}${'\b'.repeat(columns)}`;
}

function joinFrame(frame: Frame | undefined): string {
  return frame?.rows.map((row) => row.map(({ text }) => text).join('')).join('\n') ?? '';
}

function lastRow(frame: Frame | undefined): Frame['rows'][number] {
  return frame?.rows.at(-1) ?? [];
}

function countCommon(old: Frame['rows'][number], row: Frame['rows'][number]): number {
  const differs = row.findIndex(({ text }, index) => text !== old[index]?.text);
  return differs === -1 ? row.length : differs;
}
