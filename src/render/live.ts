import type { Io, Out, Spinner, Ticker } from '../core/io.ts';
import { type Cell, diffFrames, eraseFrame, type Frame, type Row, rewrapFrame } from '../core/text/frame.ts';
import { countSpareRows, RESTORE_CURSOR, SAVE_CURSOR } from '../core/text/terminal.ts';
import { joinLines } from '../core/text/trim.ts';
import { measureWidth, splitGraphemes } from '../core/text/width.ts';

/**
 * The bottom rows of a terminal: text that may still change, what is awaited, and a footer below them. The cursor is where
 * the footer wants it, else at the start of the free row under all of that.
 */
export interface LiveArea {
  /** How many rows of text may be live: at most the window less two rows and the footer. */
  readonly room: number;
  /**
   * Prints `lines` for good, and below them shows `live` in place of the text that was live so far. Without it the text
   * has ended, and others may write below it.
   */
  show(lines: readonly string[], live?: readonly string[]): Promise<void>;
  /**
   * Shows these rows below the text, each cut to the width of the window; none removes the footer. With a `caret` in
   * them, nothing else may be written while they are shown, other than through this area.
   */
  setFooter(rows: readonly string[], caret?: Cell): void;
  /** Shows these rows between the text and the footer; in a low window, the first and the last of them. */
  setProgress(rows: readonly string[]): void;
  /** How many of the live lines a smaller window may have pushed out of reach; they cannot be removed any more. */
  countScrolled(): number;
  /** Shows the first `count` live lines for good, those that have scrolled away where they are, and removes the others. */
  leave(count: number): Promise<void>;
  /** Removes everything from the screen, and draws nothing until `resume`. Calls nest. */
  suspend(): Promise<void>;
  resume(): void;
  close(): Promise<void>;
}

/**
 * Draws on `out`. While it is open it is among the spinners of `err`, so that a question suspends it. `echoTicker` is
 * given if the terminal itself shows the keys that are typed: with each tick they are removed again.
 */
export function openLive({ out, err }: Io, echoTicker?: Ticker): LiveArea {
  const hasEcho = echoTicker !== undefined;
  const painter = createPainter(out, hasEcho);
  let live: readonly string[] = [];
  let isOpen = false;
  let footer: FooterRows = NO_FOOTER;
  let progress: readonly string[] = [];
  let unprinted: readonly string[] = [];
  let holds = 0;
  // The first live lines, which had to stay on the screen when the rest was removed.
  let gone = 0;
  const draw = (): Promise<void> => {
    if (holds > 0) return Promise.resolve();
    const lines = unprinted;
    unprinted = [];
    return painter.paint(lines, { live: live.slice(gone), isOpen, footer: joinFooter(out, progress, footer) });
  };
  // Text that has scrolled away stays as it is: whoever shows it must first say what of it is left.
  const redraw = (): void => void ((live.length > 0 && painter.hasScrolled()) || draw().catch(() => {}));
  const area: LiveArea = {
    get room() {
      return countRoom(out, joinFooter(out, progress, footer), hasEcho);
    },
    show(lines, next) {
      unprinted = unprinted.length === 0 ? lines : [...unprinted, ...lines];
      live = next ?? [];
      gone = 0;
      isOpen = next !== undefined;
      return draw();
    },
    setFooter(rows, caret) {
      footer = caret === undefined ? { rows } : { rows, caret };
      if (caret === undefined) progress = [];
      redraw();
    },
    setProgress(rows) {
      progress = rows;
      redraw();
    },
    countScrolled: () => gone + painter.countScrolled(live.slice(gone)),
    leave(count) {
      const scrolled = area.countScrolled();
      const kept = live.slice(gone, scrolled);
      unprinted = [...unprinted, ...live.slice(scrolled, count)];
      live = [];
      gone = 0;
      return painter.leave(kept);
    },
    suspend() {
      holds += 1;
      if (holds > 1) return Promise.resolve();
      const start = gone;
      gone = area.countScrolled();
      return painter.leave(live.slice(start, gone));
    },
    resume() {
      holds = Math.max(0, holds - 1);
      redraw();
    },
    close() {
      for (const stop of stops) stop?.();
      err.spinners?.delete(spinner);
      footer = NO_FOOTER;
      progress = [];
      holds = 0;
      const drawn = draw();
      painter.leave(live.slice(gone)).catch(() => {});
      live = [];
      gone = 0;
      return drawn;
    },
  };
  const spinner: Spinner = { hide: area.suspend, show: area.resume, setNote() {} };
  err.spinners?.add(spinner);
  const goOn = (): void => {
    painter.forgetPlace();
    area.resume();
  };
  const stops = [
    out.onResize?.(redraw),
    out.onSuspend?.(area.suspend, goOn),
    echoTicker?.every(ECHO_MS, painter.removeEcho),
  ];
  return area;
}

interface FooterRows {
  readonly rows: readonly string[];
  readonly caret?: Cell;
}

const NO_FOOTER: FooterRows = { rows: [] };

function joinFooter(out: Out, [first, ...others]: readonly string[], { rows, caret }: FooterRows): FooterRows {
  if (first === undefined) return caret === undefined ? { rows } : { rows, caret };
  const most = Math.max(0, countRoom(out, { rows }) - 2);
  const progress = [first, ...others.slice(Math.max(0, others.length - most))];
  const moved = caret && { caret: { ...caret, row: caret.row + progress.length } };
  return { rows: [...progress, ...rows], ...moved };
}

function countRoom(out: Out, { rows }: FooterRows, hasEcho = false): number {
  const windowRows = countWindowRows(out);
  return Math.max(1, windowRows - 1 - (hasEcho ? countSpareRows(windowRows) : 1) - rows.length);
}

function countWindowRows({ rows = DEFAULT_ROWS }: Out): number {
  return rows;
}

const DEFAULT_ROWS = 24;
/** Nobody types more than a few Enters in this time. */
const ECHO_MS = 100;
/** A row that is wider for the terminal than for us must not be wrapped: it could not be found again. */
const WRAP_OFF = '\u001b[?7l';
const WRAP_ON = '\u001b[?7h';
const ERASE_ROW = '\r\u001b[K';
const ERASE_BELOW = '\r\u001b[J';

interface Below {
  readonly live: readonly string[];
  readonly isOpen: boolean;
  readonly footer: FooterRows;
}

interface Drawn {
  readonly frame: Frame;
  /** The live lines as given, each on one row; empty if one of them is not. */
  readonly lines: readonly string[];
  readonly isWhole: boolean;
  /** Of the text and the footer. */
  readonly contentRows: number;
  readonly hasCaret: boolean;
  readonly columns: number;
  readonly windowRows: number;
}

function createPainter(out: Out, hasEcho: boolean) {
  let drawn: Drawn | undefined;
  // Free rows below the cursor, at most: taller frames have left them, or the window has grown.
  let free = 0;
  let windowRows = countWindowRows(out);
  // Rows above what is drawn, at least.
  let above = 0;
  const moveEnd = (rows: number): void => {
    free = Math.max(0, free - rows);
  };
  const hasResized = (): boolean =>
    drawn !== undefined && (drawn.columns !== out.columns || drawn.windowRows !== countWindowRows(out));
  // Back to where the cursor was left: Enter may have moved it since, and others may have drawn in its free row.
  const findCursor = (): string => {
    if (drawn === undefined || drawn.hasCaret) return '';
    return hasEcho && !hasResized() ? RESTORE_CURSOR + ERASE_BELOW : ERASE_ROW;
  };
  const eraseFrom = (keep: number): string => {
    if (drawn === undefined) return '';
    const { frame, columns } = drawn;
    const rest = dropRows(frame, keep);
    return findCursor() + eraseFrame(columns === out.columns ? rest : rewrapFrame(splitRows(rest), out.columns));
  };
  const countLineRows = (line = ''): number => wrapIntoRows(line, drawn?.columns ?? out.columns).length;
  const isBeyondReach = (row: number): boolean => {
    if (!drawn?.isWhole) return false;
    const { frame, columns } = drawn;
    const rows = countWindowRows(out);
    const below = countDrawn(drawn) - frame.caret.row;
    const rest = dropRows(frame, row);
    if (columns === out.columns) return rest.caret.row > rows - 1 - below;
    // A terminal that rewraps rows may keep the cursor where it is in the window, and push rows out at the top.
    const reach = Math.min(rows - 1, windowRows - 1 - free - below, above + frame.caret.row);
    return rewrapFrame(splitRows(rest), out.columns).caret.row > reach;
  };
  const followResize = (): void => {
    free += Math.max(0, countWindowRows(out) - windowRows);
    windowRows = countWindowRows(out);
    if (drawn === undefined || drawn.columns === out.columns) return;
    const { caret } = drawn.frame;
    // Where it has moved up for the rows it takes now, the next frame will end that much higher.
    free += Math.max(0, rewrapFrame(splitRows(drawn.frame), out.columns).caret.row - caret.row);
  };
  const write = (text: string): Promise<void> => (text === '' ? Promise.resolve() : out.write(text));
  return {
    paint(lines: readonly string[], below: Below): Promise<void> {
      // A lower window has dropped rows below the cursor, at least in tmux and VS Code.
      const isResized = hasResized();
      const keep = drawn === undefined || isResized ? 0 : countKept(drawn.lines, lines);
      const isKept = keep === lines.length && !isResized;
      const before = isKept && drawn !== undefined ? dropRows(drawn.frame, keep) : undefined;
      const printed = isKept ? '' : eraseFrom(keep) + joinLines(lines.slice(keep));
      const next = toDrawn(out, below, hasEcho);
      const changes = replaceFrame(before, next);
      const output = isKept && changes !== '' ? findCursor() + changes : printed + changes;
      followResize();
      moveEnd(lines.length + countDrawn(next) - countDrawn(drawn));
      free = Math.min(free, windowRows - 1 - countDrawn(next));
      above += lines.length;
      drawn = next;
      return write(hasEcho && next !== undefined && output !== '' ? output + SAVE_CURSOR : output);
    },
    removeEcho(): void {
      if (!hasResized()) write(findCursor()).catch(() => {});
    },
    /** Call after others had the terminal: nothing is known any more of what is above and below. */
    forgetPlace(): void {
      free = countWindowRows(out) - 1;
      above = 0;
    },
    hasScrolled: (): boolean => isBeyondReach(0),
    countScrolled(live: readonly string[]): number {
      let count = 0;
      for (let row = 0; count < live.length && isBeyondReach(row); count += 1) row += countLineRows(live[count]);
      return count;
    },
    /** Removes what is drawn below these lines, the first of the text, and forgets them. */
    leave(lines: readonly string[]): Promise<void> {
      const kept = lines.reduce((sum, line) => sum + countLineRows(line), 0);
      const hasMore = drawn !== undefined && kept < drawn.contentRows;
      const output = hasMore ? eraseFrom(kept) : findCursor();
      followResize();
      moveEnd(kept - countDrawn(drawn));
      drawn = undefined;
      return write(output);
    },
  };
}

function countDrawn(drawn: Drawn | undefined): number {
  return drawn === undefined ? 0 : drawn.frame.rows.length - 1;
}

function replaceFrame(before: Frame | undefined, next: Drawn | undefined): string {
  if (next === undefined) return before === undefined ? '' : eraseFrame(before);
  const changes = diffFrames(before, next.frame);
  if (changes === '') return '';
  const isSafe = next.frame.rows.every((row) => row.every(({ text }) => isSimple(text)));
  return isSafe ? changes : `\r${WRAP_OFF}${changes}${WRAP_ON}`;
}

function dropRows({ rows, caret }: Frame, count: number): Frame {
  return { rows: rows.slice(count), caret: { ...caret, row: caret.row - count } };
}

function countKept(drawn: readonly string[], lines: readonly string[]): number {
  let kept = 0;
  // Terminals disagree about the width of other characters; to be sure that all is shown, those are written again.
  while (kept < lines.length && lines[kept] === drawn[kept] && isSimple(lines[kept] ?? '')) kept += 1;
  return kept;
}

function toDrawn(out: Out, { live, isOpen, footer }: Below, hasEcho: boolean): Drawn | undefined {
  const { columns } = out;
  const rows = live.flatMap((line) => wrapIntoRows(line, columns));
  const room = countRoom(out, footer, hasEcho);
  const isWhole = rows.length <= room;
  const shown = rows.slice(-room);
  const below = footer.rows.map((line) => wrapIntoRows(line, columns)[0] ?? []);
  const count = shown.length + below.length;
  if (count === 0 && !(hasEcho && isOpen)) return undefined;
  const { caret } = footer;
  const windowRows = countWindowRows(out);
  const spare = hasEcho ? Math.max(0, Math.min(countSpareRows(windowRows), windowRows - count - 1)) : 0;
  return {
    frame:
      caret === undefined
        ? { rows: [...shown, ...below, [], ...Array<Row>(spare).fill([])], caret: { row: count, column: 0 } }
        : { rows: [...shown, ...below], caret: { ...caret, row: shown.length + caret.row } },
    lines: isWhole && rows.length === live.length ? live : [],
    isWhole,
    contentRows: count,
    hasCaret: caret !== undefined,
    columns,
    windowRows,
  };
}

const SEQUENCE = /\u001b\[[\d;]*m|\u001b\]8;;[^\u001b]*\u001b\\/g;
const PIECE = /\u001b\[[\d;]*m|\u001b\]8;;[^\u001b]*\u001b\\|[^\u001b]+/g;

function isSimple(line: string): boolean {
  return /^(?:[\x20-\x7e]|\u001b\[[\d;]*m)*$/.test(line);
}

/** The rows that a line takes in the window. One that takes several loses its styles. */
function wrapIntoRows(line: string, columns: number): readonly Row[] {
  const text = line.replace(SEQUENCE, '');
  const width = text.includes('\t') ? Number.POSITIVE_INFINITY : measureWidth(text);
  if (width > columns) return breakText(text, columns);
  if (!isSimple(line)) return [[{ text: line, width }]];
  return [
    (line.match(PIECE) ?? []).flatMap((piece) =>
      piece.startsWith('\u001b')
        ? [{ text: piece, width: 0 }]
        : (piece.match(/ *[^ ]+| +/g) ?? []).map((word) => ({ text: word, width: word.length })),
    ),
  ];
}

const TAB = 8;

function breakText(text: string, columns: number): readonly Row[] {
  const rows: Row[] = [];
  let row = '';
  let used = 0;
  for (const grapheme of splitGraphemes(text)) {
    const shown = grapheme === '\t' ? ' '.repeat(Math.min(columns - used, TAB - (used % TAB))) : grapheme;
    const width = measureWidth(shown);
    if (used > 0 && used + width > columns) {
      rows.push([{ text: row, width: used }]);
      row = '';
      used = 0;
    }
    row += shown;
    used += width;
  }
  rows.push([{ text: row, width: used }]);
  return rows;
}

function splitRows({ rows, caret }: Frame): Frame {
  const split = (row: Row): Row =>
    row.flatMap(({ text }) =>
      splitGraphemes(text.replace(SEQUENCE, '')).map((grapheme) => ({ text: grapheme, width: measureWidth(grapheme) })),
    );
  return { rows: rows.map(split), caret };
}
