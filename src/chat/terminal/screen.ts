import type { Out } from '../../core/io.ts';
import { erasing, type Frame, leaving, painted, rewrapped } from './painter.ts';
import { plainlyPainted } from './plain-painter.ts';

/** The place on the terminal where the line is drawn. What other people write there, they write while nothing is drawn. */
export interface Screen {
  /** Shows a frame for this width of the window in the place of the one before. Nothing is written if nothing changed. */
  show(frame: Frame, columns: number): void;
  /** Takes the frame off the screen. */
  erase(): void;
  /** Leaves the frame where it is; the cursor goes to a free row below it. */
  leave(): void;
  /** An empty screen. */
  clear(): void;
  /** Something else was written meanwhile: the next frame starts anew, where the cursor is. */
  forget(): void;
}

/** Nothing is drawn yet. `isPlain`: a terminal that can only print. */
export function screenOn(err: Out, isPlain: boolean): Screen {
  let drawn: Frame | undefined;
  let drawnColumns = 0;
  const paint = isPlain ? plainlyPainted : painted;
  const write = (text: string): void => {
    if (text === '') return;
    // The terminal takes what it gets in order.
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
      // The terminal has made something else of what stood there.
      if (columns !== drawnColumns) finish((before) => erasing(rewrapped(before, columns)));
      write(paint(drawn, frame));
      drawn = frame;
      drawnColumns = columns;
    },
    erase: () => finish(erasing),
    leave: () => finish(leaving),
    clear() {
      if (!isPlain) write('\u001b[H\u001b[2J');
      forget();
    },
    forget,
  };
}
