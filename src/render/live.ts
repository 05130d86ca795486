import type { Io, Out, Spinner } from '../core/io.ts';
import { type Cell, diffFrames, eraseFrame, type Frame, type Row, rewrapFrame } from '../core/text/frame.ts';
import { measureWidth, splitGraphemes } from '../core/text/width.ts';

/**
 * The bottom rows of a terminal: text that may still change, what is awaited, and a footer below them. The cursor is where
 * the footer wants it, else at the start of the free row under all of that, so that a spinner, or whatever else is
 * written there, is below the text.
 */
export interface LiveArea {
  /** How many rows of text may be live: the window less two rows and the footer. */
  readonly room: number;
  /** Prints `lines` for good, and below them shows `live` in place of the text that was live so far. */
  show(lines: readonly string[], live: readonly string[]): Promise<void>;
  /**
   * Shows these rows below the text, each cut to the width of the window; none removes the footer. With a `caret` in
   * them, nothing else may be written while they are shown, other than through this area.
   */
  setFooter(rows: readonly string[], caret?: Cell): void;
  /** Whether the footer has the cursor, so that what is awaited must be shown by `setProgress`. */
  readonly hasCaret: boolean;
  setProgress(rows: readonly string[]): void;
  /**
   * A smaller window may have pushed live text out of reach. Then all of it is left on the screen for good, and the
   * result is true: it must not be shown again.
   */
  leaveScrolled(): boolean;
  /** Removes everything from the screen, and draws nothing until `resume`. Calls nest. */
  suspend(): Promise<void>;
  resume(): void;
  /** Removes what others have left in the row of the cursor, such as the echo of a key. */
  clearBelow(): Promise<void>;
  close(): Promise<void>;
}

/** Draws on `out`. While it is open it is among the spinners of `err`, so that a question suspends it. */
export function openLive({ out, err }: Io): LiveArea {
  const painter = createPainter(out);
  let live: readonly string[] = [];
  let footer: FooterRows = NO_FOOTER;
  let progress: readonly string[] = [];
  let unprinted: readonly string[] = [];
  let holds = 0;
  const draw = (): Promise<void> => {
    if (holds > 0) return Promise.resolve();
    const lines = unprinted;
    unprinted = [];
    return painter.paint(lines, live, joinFooter(progress, footer));
  };
  // What has scrolled away stays as it is until `leaveScrolled` was asked about it.
  const redraw = (): void => void (painter.hasScrolled() || draw().catch(() => {}));
  const area: LiveArea = {
    get room() {
      return countRoom(out, joinFooter(progress, footer));
    },
    get hasCaret() {
      return footer.caret !== undefined;
    },
    show(lines, next) {
      unprinted = unprinted.length === 0 ? lines : [...unprinted, ...lines];
      live = next;
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
    leaveScrolled() {
      if (!painter.hasScrolled() || live.length === 0) return false;
      live = [];
      painter.leaveText();
      return true;
    },
    suspend() {
      holds += 1;
      return holds === 1 ? painter.erase() : Promise.resolve();
    },
    resume() {
      holds = Math.max(0, holds - 1);
      redraw();
    },
    clearBelow: () => (footer.caret === undefined ? out.write(ERASE_ROW) : Promise.resolve()),
    close() {
      stopListening?.();
      err.spinners?.delete(spinner);
      footer = NO_FOOTER;
      progress = [];
      holds = 0;
      const drawn = draw();
      painter.leaveText();
      live = [];
      return drawn;
    },
  };
  const spinner: Spinner = { hide: area.suspend, show: area.resume, setNote() {} };
  err.spinners?.add(spinner);
  const stopListening = out.onResize?.(redraw);
  return area;
}

interface FooterRows {
  readonly rows: readonly string[];
  readonly caret?: Cell;
}

const NO_FOOTER: FooterRows = { rows: [] };

function joinFooter(progress: readonly string[], { rows, caret }: FooterRows): FooterRows {
  if (progress.length === 0) return caret === undefined ? { rows } : { rows, caret };
  const moved = caret && { caret: { ...caret, row: caret.row + progress.length } };
  return { rows: [...progress, ...rows], ...moved };
}

function countRoom(out: Out, { rows }: FooterRows): number {
  return Math.max(1, countWindowRows(out) - 2 - rows.length);
}

function countWindowRows({ rows = DEFAULT_ROWS }: Out): number {
  return rows;
}

const DEFAULT_ROWS = 24;
/** A row that is wider for the terminal than for us must not be wrapped: it could not be found again. */
const WRAP_OFF = '\u001b[?7l';
const WRAP_ON = '\u001b[?7h';
const ERASE_ROW = '\r\u001b[K';

interface Painter {
  paint(lines: readonly string[], live: readonly string[], footer: FooterRows): Promise<void>;
  erase(): Promise<void>;
  /** Whether rows of text that is all there may have left the window, because it became smaller. */
  hasScrolled(): boolean;
  leaveText(): void;
}

interface Drawn {
  readonly frame: Frame;
  /** The live lines as given, each on one row; empty if one of them is not. */
  readonly lines: readonly string[];
  readonly isWhole: boolean;
  /** The row of the frame where the footer begins; undefined if there is none. */
  readonly footerStart: number | undefined;
  readonly hasCaret: boolean;
  readonly columns: number;
  readonly windowRows: number;
}

function createPainter(out: Out): Painter {
  let drawn: Drawn | undefined;
  // Free rows below the cursor, at most: taller frames have left them, or the window has grown.
  let free = 0;
  let windowRows = countWindowRows(out);
  // Rows above what is drawn, at least.
  let above = 0;
  const moveEnd = (rows: number): void => {
    free = Math.max(0, free - rows);
  };
  const eraseFrom = (keep: number): string => {
    if (drawn === undefined) return '';
    const { frame, columns } = drawn;
    const rest = { rows: frame.rows.slice(keep), caret: { ...frame.caret, row: frame.caret.row - keep } };
    return eraseFrame(columns === out.columns ? rest : rewrapFrame(splitRows(rest), out.columns));
  };
  const write = (text: string): Promise<void> => (text === '' ? Promise.resolve() : out.write(text));
  return {
    paint(lines, live, footer) {
      // A lower window has dropped rows below the cursor, at least in tmux and VS Code.
      const hasResized =
        drawn !== undefined && (drawn.columns !== out.columns || drawn.windowRows !== countWindowRows(out));
      const keep = drawn === undefined || hasResized ? 0 : countKept(drawn.lines, lines);
      const isKept = keep === lines.length && !hasResized;
      const before = isKept && drawn !== undefined ? { ...drawn, frame: dropRows(drawn.frame, keep) } : undefined;
      const printed = isKept ? '' : eraseFrom(keep) + lines.slice(keep).map(endLine).join('');
      const next = toDrawn(out, live, footer);
      free += Math.max(0, (next?.windowRows ?? windowRows) - windowRows);
      windowRows = next?.windowRows ?? windowRows;
      moveEnd(lines.length + countDrawn(next) - countDrawn(drawn));
      above += lines.length;
      drawn = next;
      return write(printed + replaceFrame(before, next));
    },
    erase() {
      const output = eraseFrom(0);
      moveEnd(-countDrawn(drawn));
      drawn = undefined;
      return write(output);
    },
    hasScrolled() {
      if (!drawn?.isWhole) return false;
      const { frame, columns } = drawn;
      const rows = countWindowRows(out);
      if (columns === out.columns) return frame.rows.length > rows;
      // A terminal that wraps rows anew may leave the cursor where it is in the window, and push rows out at the top.
      const below = countDrawn(drawn) - frame.caret.row;
      const reach = Math.min(rows - 1, windowRows - 1 - free - below, above + frame.caret.row);
      return rewrapFrame(splitRows(frame), out.columns).caret.row > reach;
    },
    leaveText() {
      if (drawn?.footerStart !== undefined) write(eraseFrom(drawn.footerStart)).catch(() => {});
      drawn = undefined;
    },
  };
}

function countDrawn(drawn: Drawn | undefined): number {
  return drawn === undefined ? 0 : drawn.frame.rows.length - 1;
}

function replaceFrame(before: Pick<Drawn, 'frame' | 'hasCaret'> | undefined, next: Drawn | undefined): string {
  if (next === undefined) {
    const isEmpty = before === undefined || (before.frame.rows.length === 1 && !before.hasCaret);
    return isEmpty ? '' : eraseFrame(before.frame);
  }
  const changes = diffFrames(before?.frame, next.frame);
  if (changes === '') return '';
  const isSafe = next.frame.rows.every((row) => row.every(({ text }) => isSimple(text)));
  // Others may have drawn in the free row of the cursor, but not in a row of the footer.
  const clear = before === undefined || before.hasCaret ? '' : ERASE_ROW;
  return `${clear}${isSafe ? changes : `\r${WRAP_OFF}${changes}${WRAP_ON}`}`;
}

function endLine(line: string): string {
  return `${line}\n`;
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

/** Undefined if there is nothing to draw. */
function toDrawn(out: Out, live: readonly string[], footer: FooterRows): Drawn | undefined {
  const { columns } = out;
  const rows = live.flatMap((line) => toRows(line, columns));
  const isWhole = rows.length <= countRoom(out, footer);
  const shown = rows.slice(-countRoom(out, footer));
  const below = footer.rows.map((line) => toRows(line, columns)[0] ?? []);
  if (shown.length + below.length === 0) return undefined;
  const { caret } = footer;
  return {
    frame:
      caret === undefined
        ? { rows: [...shown, ...below, []], caret: { row: shown.length + below.length, column: 0 } }
        : { rows: [...shown, ...below], caret: { ...caret, row: shown.length + caret.row } },
    lines: isWhole && rows.length === live.length ? live : [],
    isWhole,
    footerStart: below.length === 0 ? undefined : shown.length,
    hasCaret: caret !== undefined,
    columns,
    windowRows: countWindowRows(out),
  };
}

const SEQUENCE = /\u001b\[[\d;]*m|\u001b\]8;;[^\u001b]*\u001b\\/g;
const PIECE = /\u001b\[[\d;]*m|\u001b\]8;;[^\u001b]*\u001b\\|[^\u001b]+/g;

function isSimple(line: string): boolean {
  return /^(?:[\x20-\x7e]|\u001b\[[\d;]*m)*$/.test(line);
}

/** The rows that a line takes in the window. One that takes several loses its styles. */
function toRows(line: string, columns: number): readonly Row[] {
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

/** In columns. */
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

/** The same frame with every character a piece of its own, as `rewrapFrame` needs it. */
function splitRows({ rows, caret }: Frame): Frame {
  const split = (row: Row): Row =>
    row.flatMap(({ text }) =>
      splitGraphemes(text.replace(SEQUENCE, '')).map((grapheme) => ({ text: grapheme, width: measureWidth(grapheme) })),
    );
  return { rows: rows.map(split), caret };
}
