import type { Out } from '../../core/io.ts';
import { diffFrames, eraseFrame, type Frame, moveBelow, rewrapFrame } from '../../core/text/frame.ts';

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

export function createScreen(err: Out, isPlain: boolean): Screen {
  let drawn: Frame | undefined;
  let drawnColumns = 0;
  let drawnRows = err.rows;
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
      // The terminal has rewrapped the previous frame, or dropped its rows below the cursor.
      if (columns !== drawnColumns || err.rows !== drawnRows)
        finish((before) => eraseFrame(rewrapFrame(before, columns)));
      write(paint(drawn, frame));
      drawn = frame;
      drawnColumns = columns;
      drawnRows = err.rows;
    },
    erase: () => finish(eraseFrame),
    moveBelow: () => finish((frame) => moveBelow(frame, drawnColumns)),
    clear() {
      if (!isPlain) write('\u001b[H\u001b[2J');
      forget();
    },
    startBelow: forget,
  };
}

/** Like `diffFrames` for a terminal that can only print and go back a column: the line grows and shrinks at its end. */
function diffPlainly(before: Frame | undefined, next: Frame): string {
  const old = joinFrame(before);
  const text = joinFrame(next);
  if (text === old && before !== undefined) return '';
  if (text.startsWith(old)) return text.slice(old.length);
  const gone = findLastRow(before).slice(countCommon(findLastRow(before), findLastRow(next)));
  const hasOneRow = before?.rows.length === 1 && next.rows.length === 1;
  if (!hasOneRow || !old.startsWith(text)) return `\n${text}`;
  const columns = gone.reduce((sum, { width }) => sum + width, 0);
  return `${'\b'.repeat(columns)}${' '.repeat(columns)}${'\b'.repeat(columns)}`;
}

function joinFrame(frame: Frame | undefined): string {
  return frame?.rows.map((row) => row.map(({ text }) => text).join('')).join('\n') ?? '';
}

function findLastRow(frame: Frame | undefined): Frame['rows'][number] {
  return frame?.rows.at(-1) ?? [];
}

function countCommon(old: Frame['rows'][number], row: Frame['rows'][number]): number {
  const differs = row.findIndex(({ text }, index) => text !== old[index]?.text);
  return differs === -1 ? row.length : differs;
}
