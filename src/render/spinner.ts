import type { Out, Spinner } from '../core/io.ts';
import { countSpareRows, RESTORE_CURSOR, SAVE_CURSOR, sanitize, stripControls } from '../core/text/terminal.ts';
import type { LiveArea } from './live.ts';
import type { RenderOptions } from './renderer.ts';

export async function withoutSpinner<Result>(err: Out, work: () => Promise<Result>): Promise<Result> {
  const held = [...(err.spinners ?? [])];
  for (const spinner of held) await spinner.hide();
  return work().finally(() => {
    for (const spinner of held) spinner.show();
  });
}

export function noteProgress(err: Out, text: string): void {
  // Limited because it is sanitized for every frame, and no line is longer anyway.
  for (const spinner of err.spinners ?? []) spinner.setNote(text.slice(0, MAX_NOTE).toWellFormed());
}

/**
 * Shows the end of what a running command prints. Cheap, however much that is: only the end of the text is kept, and
 * it is laid out once per frame. Untrusted text.
 */
export function addOutput(err: Out, text: string): void {
  for (const spinner of err.spinners ?? []) spinner.addOutput?.(text);
}

const MAX_NOTE = 500;
const MAX_TAIL_ROWS = 4;
const MAX_TAIL = 4000;
const FREE_ROWS = 4;
const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'] as const;
const TICK_MS = 100;
const SPINNER_AFTER_MS = 400;
const LINE_EVERY_MS = 30_000;

/** Whether somebody sees what a spinner on this stream shows. */
export function hasSpinner({ isTerminal }: Out, { quiet, isDumb }: Pick<RenderOptions, 'quiet' | 'isDumb'>): boolean {
  return isTerminal && !quiet && !isDumb;
}

type ProgressOptions = Pick<RenderOptions, 'quiet' | 'isDumb' | 'clock' | 'ticker'> & {
  /** Whether redrawing the cursor's line would overwrite nothing. */
  readonly mayDraw: () => boolean;
  readonly area?: () => ProgressRows | undefined;
};

type ProgressRows = Pick<LiveArea, 'setProgress'>;

/**
 * A spinner on a terminal after 400 ms of silence; elsewhere one line for every 30 s of it. Write errors on stderr are
 * ignored. `err` is not touched before there is something to show.
 */
export function createProgress(err: Out, { quiet, isDumb, clock, ticker, mayDraw, area }: ProgressOptions) {
  const drawing = createDrawing(err, area);
  let awaited: { readonly what: string; readonly sinceMs: number; readonly isCall: boolean } | undefined;
  let silentSinceMs = 0;
  let lines = 0;
  let isAnnounced = false;
  let stopTicking: (() => void) | undefined;
  let stopWatching: (() => void) | undefined;
  let holds = 0;
  let note = '';
  let thought = '';
  let tail = '';

  const tick = (): void => {
    if (awaited === undefined || holds > 0) return;
    const { what, sinceMs, isCall } = awaited;
    const silentMs = clock.now() - silentSinceMs;
    const seconds = Math.floor((clock.now() - sinceMs) / 1000);
    if (err.isTerminal && !isDumb) {
      if (!mayDraw() || (silentMs < SPINNER_AFTER_MS && !isCall)) return;
      const below = isCall ? layOutTail(tail, err) : [];
      stopWatching ??= err.onSuspend?.(spinner.hide, spinner.show);
      // A narrow window shows what it thinks about without who thinks.
      const texts = thought === '' ? [`${what} ${note}`.trimEnd()] : [`${what} · ${thought}`, thought];
      drawing.draw(texts.map(sanitize), seconds === 0 ? '' : ` · ${seconds} s`, below);
    } else if (err.isTerminal && isCall && !isAnnounced && silentMs >= SPINNER_AFTER_MS) {
      isAnnounced = true;
      drawing.line(`Running ${sanitize(what)}\n`);
    } else if (silentMs >= (lines + 1) * LINE_EVERY_MS) {
      lines += 1;
      drawing.line(`gmn: waiting for ${sanitize(what)} · ${seconds} s\n`);
    }
  };
  /** Restarts the silence. Call it before writing anything else, and await the promise if there is one. */
  const clear = (): Promise<void> | undefined => {
    silentSinceMs = clock.now();
    lines = 0;
    return drawing.erase();
  };
  const spinner: Spinner = {
    hide() {
      holds += 1;
      return clear();
    },
    show() {
      holds = Math.max(0, holds - 1);
      silentSinceMs = clock.now();
    },
    setNote(text) {
      note = text;
    },
    addOutput(text) {
      tail = (tail + text.slice(-MAX_TAIL)).slice(-MAX_TAIL);
    },
  };
  return {
    /**
     * A repeated call with the same text does not restart its time. A tool call is shown sooner than other things, and also
     * on a terminal that cannot be redrawn.
     */
    wait(what: string, kind?: 'call'): void {
      if (quiet) return;
      err.spinners?.add(spinner);
      if (awaited === undefined) silentSinceMs = clock.now();
      if (awaited?.what !== what) {
        awaited = { what, sinceMs: clock.now(), isCall: kind === 'call' };
        note = '';
        thought = '';
        tail = '';
        isAnnounced = false;
      }
      stopTicking ??= ticker.every(TICK_MS, tick);
    },
    /** What the model is thinking about; empty if that is not known. Untrusted text. */
    setThought(subject: string): void {
      thought = subject.slice(0, MAX_NOTE).toWellFormed();
    },
    clear,
    pause(): Promise<void> | undefined {
      err.spinners?.delete(spinner);
      awaited = undefined;
      stopTicking?.();
      stopTicking = undefined;
      stopWatching?.();
      stopWatching = undefined;
      return clear();
    },
  };
}

/** A heading is at the start of its line; no line is read further. */
const MAX_HEADING_LINE = 300;
const HEADING = /^\s*\*\*([^*]+)\*\*/;

/** Finds the subject of the current thought: the last bold heading in what the model thinks. Untrusted text. */
export function createSubjectReader(): (delta: string) => string {
  let line = '';
  let subject = '';
  return (delta) => {
    for (const [index, piece] of delta.split('\n').entries()) {
      if (index > 0) line = '';
      line = (line + piece.slice(0, MAX_HEADING_LINE)).slice(0, MAX_HEADING_LINE);
      subject = HEADING.exec(line)?.[1]?.trim() || subject;
    }
    return subject;
  };
}

/** The last lines of an output, one row each. Its first line may be the end of a longer one. */
function layOutTail(output: string, err: Out): readonly string[] {
  const most = Math.min(MAX_TAIL_ROWS, (err.rows ?? Number.POSITIVE_INFINITY) - FREE_ROWS);
  if (output === '' || most < 1) return [];
  const lines = stripControls(output)
    .split('\n')
    .filter((line) => line.trim() !== '');
  return lines.slice(-most).map((line) => formatOutputRow(line, err.columns - ECHO));
}

export function formatOutputRow(line: string, columns: number): string {
  // No terminal is wider, and a line may have any length.
  const start = stripControls(line.slice(0, MAX_TAIL).toWellFormed()).replaceAll('\t', '    ').trimEnd();
  return clipText(`  ${start}`, columns - 1);
}

/** The terminal echoes Ctrl+C as `^C` at the cursor. */
const ECHO = '^C'.length;

const DIM = ['\u001b[2m', '\u001b[22m'] as const;
const ERASE_BELOW = '\u001b[J';
const ERASE_RIGHT = '\u001b[K';

function createDrawing(err: Out, area: ProgressOptions['area']) {
  let rows: ProgressRows | undefined;
  let frame = 0;
  let drawn: readonly string[] = [];
  let size: Pick<Out, 'columns' | 'rows'> = err;
  let pending: Promise<void> | undefined;
  const write = (text: string): void => {
    const done = (): void => {
      if (pending === mine) pending = undefined;
    };
    const mine = (pending ?? Promise.resolve()).then(() => err.write(text)).then(done, done);
    pending = mine;
  };
  const findStart = (): string => {
    if (drawn.length === 0) return '\r';
    const isSameSize = size.columns === err.columns && size.rows === err.rows;
    // More than were drawn if a narrower window has wrapped some.
    const above = drawn.length - 1 + drawn.reduce((sum, row) => sum + countWraps(row, err.columns), 0);
    return `${isSameSize ? RESTORE_CURSOR : ''}${moveUp(above)}`;
  };
  const dim = (row: string): string => (err.isStyled ? `${DIM[0]}${row}${DIM[1]}` : row);
  const drawRows = (rows: readonly string[]): void => {
    const [first = '', ...below] = rows;
    const shown = [first, ...below.map(dim)].map((row) => `${row}${ERASE_RIGHT}`);
    const most = below.length + countSpareRows(err.rows ?? 0);
    const made = rows.length > drawn.length ? `${'\n'.repeat(most)}${moveUp(most)}` : '';
    write(`${findStart()}${made}${shown.join('\n')}${ERASE_BELOW}${SAVE_CURSOR}`);
    drawn = rows;
    size = { columns: err.columns, rows: err.rows };
  };
  return {
    /** Shows the first of the texts that fits, else what fits of the last. */
    draw(texts: readonly string[], note: string, below: readonly string[]): void {
      // A slow terminal skips frames instead of queueing them.
      if (pending !== undefined) return;
      const room = err.columns - 1 - maxWidth(note);
      const shown = texts.map((what) => `${FRAMES[frame % FRAMES.length]} ${what}`);
      const text = clipText(shown.find((each) => maxWidth(each) <= room) ?? shown.at(-1) ?? '', room) + note;
      frame += 1;
      rows = drawn.length === 0 ? area?.() : undefined;
      if (rows === undefined) drawRows([text, ...below]);
      else rows.setProgress([text, ...below.map(dim)]);
    },
    line: write,
    erase(): Promise<void> | undefined {
      rows?.setProgress([]);
      rows = undefined;
      if (drawn.length === 0) return pending;
      write(`${findStart()}${ERASE_BELOW}`);
      drawn = [];
      return pending;
    },
  };
}

function moveUp(rows: number): string {
  return rows === 0 ? '\r' : `\r\u001b[${rows}A`;
}

/** Never less than the real width; a little more does no harm here. */
function maxWidth(text: string): number {
  let width = 0;
  for (const char of text) width += isWide(char) ? 2 : 1;
  return width;
}

/** How often a terminal wraps the text; never more often than it does, because going up too many rows would erase other output. */
function countWraps(text: string, columns: number): number {
  // Created here because Unicode classes are costly to compile and few runs draw a spinner.
  const shown = text.replace(/\u200d\p{Extended_Pictographic}|\p{M}|\u200d/gu, '');
  const wide = /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]/;
  let wraps = 0;
  let column = 0;
  for (const char of shown) {
    const width = wide.test(char) ? 2 : 1;
    // One that is too wide for the rest of a row goes to the next.
    const isWrapped = column + width > columns;
    wraps += isWrapped ? 1 : 0;
    column = isWrapped ? width : column + width;
  }
  return wraps;
}

function isWide(char: string): boolean {
  const code = char.codePointAt(0) ?? 0;
  return code >= 0x1100 && !(code >= 0x2800 && code <= 0x28ff);
}

/** Cuts a text to so many columns, or a few less. */
export function clipText(text: string, columns: number): string {
  if (maxWidth(text) <= columns) return text;
  let kept = '';
  let width = 0;
  for (const char of text) {
    width += isWide(char) ? 2 : 1;
    if (width > columns - 1) break;
    kept += char;
  }
  return `${kept}…`;
}
