import type { Out, Spinner } from '../core/io.ts';
import { sanitize } from '../core/text/terminal.ts';
import type { RenderOptions } from './renderer.ts';

/** Shows the user what the program is waiting for, and for how long. */
interface Progress {
  /** Starts to wait for something; a repeated call with the same text does not restart its time. */
  wait(what: string): void;
  /**
   * Removes the spinner from the screen and restarts the silence. Call it before writing anything else, and await the
   * promise if there is one.
   */
  clear(): Promise<void> | undefined;
  pause(): Promise<void> | undefined;
}

/** Runs `work`, usually a question to the user, without a spinner drawing over it. */
export async function withoutSpinner<Result>(err: Out, work: () => Promise<Result>): Promise<Result> {
  const held = [...(err.spinners ?? [])];
  for (const spinner of held) await spinner.hide();
  return work().finally(() => {
    for (const spinner of held) spinner.show();
  });
}

/** Shows progress beside what is being waited for, until that changes. Untrusted text. */
export function noteProgress(err: Out, text: string): void {
  // Limited because it is sanitized for every frame, and no line is longer anyway.
  for (const spinner of err.spinners ?? []) spinner.setNote(text.slice(0, MAX_NOTE).toWellFormed());
}

const MAX_NOTE = 500;
const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'] as const;
const TICK_MS = 100;
const SPINNER_AFTER_MS = 400;
const LINE_EVERY_MS = 30_000;

type ProgressOptions = Pick<RenderOptions, 'quiet' | 'isDumb' | 'clock' | 'ticker'> & {
  /** Whether redrawing the cursor's line would overwrite nothing. */
  readonly mayDraw: () => boolean;
  /** Rows to draw in while the cursor's line is somebody else's. */
  readonly area?: () => ProgressRows | undefined;
};

interface ProgressRows {
  setProgress(rows: readonly string[]): void;
}

/**
 * A spinner on a terminal after 400 ms of silence; elsewhere one line for every 30 s of it. Write errors on stderr are
 * ignored. `err` is not touched before there is something to show.
 */
export function createProgress(err: Out, { quiet, isDumb, clock, ticker, mayDraw, area }: ProgressOptions): Progress {
  const drawing = createDrawing(err, area);
  let awaited: { readonly what: string; readonly sinceMs: number } | undefined;
  let silentSinceMs = 0;
  let lines = 0;
  let stopTicking: (() => void) | undefined;
  let isHeld = false;
  let note = '';

  const tick = (): void => {
    if (awaited === undefined || isHeld) return;
    const silentMs = clock.now() - silentSinceMs;
    if (silentMs < SPINNER_AFTER_MS) return;
    const seconds = Math.floor((clock.now() - awaited.sinceMs) / 1000);
    if (err.isTerminal && !isDumb) {
      if (mayDraw())
        drawing.draw(sanitize(`${awaited.what} ${note}`.trimEnd()), seconds === 0 ? '' : ` · ${seconds} s`);
    } else if (silentMs >= (lines + 1) * LINE_EVERY_MS) {
      lines += 1;
      drawing.line(`gmn: waiting for ${sanitize(awaited.what)} · ${seconds} s\n`);
    }
  };
  const clear = (): Promise<void> | undefined => {
    silentSinceMs = clock.now();
    lines = 0;
    return drawing.erase();
  };
  const spinner: Spinner = {
    hide() {
      isHeld = true;
      return clear();
    },
    show() {
      isHeld = false;
      silentSinceMs = clock.now();
    },
    setNote(text) {
      note = text;
    },
  };
  return {
    wait(what) {
      if (quiet) return;
      err.spinners?.add(spinner);
      if (awaited?.what !== what) note = '';
      if (awaited === undefined) silentSinceMs = clock.now();
      if (awaited?.what !== what) awaited = { what, sinceMs: clock.now() };
      stopTicking ??= ticker.every(TICK_MS, tick);
    },
    clear,
    pause() {
      err.spinners?.delete(spinner);
      awaited = undefined;
      stopTicking?.();
      stopTicking = undefined;
      return clear();
    },
  };
}

/** The terminal echoes Ctrl+C as `^C` at the cursor. */
const ECHO = '^C'.length;

interface Drawing {
  /** Shows `note` in full and cuts `what` to fit. */
  draw(what: string, note: string): void;
  line(text: string): void;
  erase(): Promise<void> | undefined;
}

/** Overwrites with spaces, which works on every terminal as long as its size stays the same. */
function createDrawing(err: Out, area?: () => ProgressRows | undefined): Drawing {
  let rows: ProgressRows | undefined;
  let frame = 0;
  let drawnWidth = 0;
  /** A lower bound for the cursor's column. */
  let cursor = 0;
  let pending: Promise<void> | undefined;
  const write = (text: string): void => {
    const done = (): void => {
      if (pending === mine) pending = undefined;
    };
    const mine = (pending ?? Promise.resolve()).then(() => err.write(text)).then(done, done);
    pending = mine;
  };
  return {
    draw(what, note) {
      // A slow terminal skips frames instead of queueing them.
      if (pending !== undefined) return;
      const room = err.columns - 1 - maxWidth(note);
      const text = clipText(`${FRAMES[frame % FRAMES.length]} ${what}`, room) + note;
      const width = maxWidth(text);
      frame += 1;
      rows = area?.();
      if (rows !== undefined) return rows.setProgress([text]);
      const { back, isClear } = returnToStart(cursor, err.columns);
      // The real width may be smaller; then more of the last frame remains behind the text.
      const rest = isClear ? 0 : Math.max(0, Math.min(drawnWidth - [...text].length, err.columns - 1 - width));
      write(`${back}${text}${' '.repeat(rest)}`);
      drawnWidth = width;
      cursor = minWidth(text) + rest;
    },
    line: write,
    erase() {
      rows?.setProgress([]);
      rows = undefined;
      if (drawnWidth === 0) return pending;
      const { back, isClear } = returnToStart(cursor, err.columns);
      const covered = Math.min(drawnWidth + ECHO, Math.max(drawnWidth, err.columns - 1));
      write(isClear ? back : `${back}${' '.repeat(covered)}\r`);
      drawnWidth = 0;
      cursor = 0;
      return pending;
    },
  };
}

/**
 * Moves the cursor back to the start of what was drawn. If a narrower window has wrapped it into rows, those are
 * erased.
 */
function returnToStart(cursor: number, columns: number): { readonly back: string; readonly isClear: boolean } {
  const rows = Math.floor(Math.max(0, cursor - 1) / columns);
  return rows === 0 ? { back: '\r', isClear: false } : { back: `\r\u001b[${rows}A\u001b[J`, isClear: true };
}

/** Never less than the real width; a little more does no harm here. */
function maxWidth(text: string): number {
  let width = 0;
  for (const char of text) width += isWide(char) ? 2 : 1;
  return width;
}

/** Never more than the real width: going up too many rows would erase other output. */
function minWidth(text: string): number {
  // Created here because Unicode classes are costly to compile and few runs draw a spinner.
  const shown = text.replace(/\u200d\p{Extended_Pictographic}|\p{M}|\u200d/gu, '');
  const wide = /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]/g;
  return [...shown].length + (shown.match(wide)?.length ?? 0);
}

function isWide(char: string): boolean {
  const code = char.codePointAt(0) ?? 0;
  return code >= 0x1100 && !(code >= 0x2800 && code <= 0x28ff);
}

function clipText(text: string, columns: number): string {
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
