import { closeSync, constants, openSync, readSync } from 'node:fs';
import { isatty } from 'node:tty';
import type { Env } from '../../core/io.ts';
import { type TtyStream, ttyStream } from './input-stream.ts';

/** The person's terminal, whatever stdin and stdout are. */
export interface Tty {
  readonly columns: number;
  readonly rows: number;
  /**
   * Throws away what was typed until the keyboard has been quiet for a moment, calls `show`, and resolves with the first
   * key of `keys` that is typed after that: one small letter or control character. A paste is no key. `INTERRUPT` stands
   * for Ctrl+C, an abort and the end of the terminal, `CONTINUED` for a return from the background; both always count.
   */
  key(keys: Keys, show: () => Promise<void>, signal: AbortSignal): Promise<string>;
  /** A line of text, edited as it is typed, `prompt` before it. `INTERRUPT` as above. */
  line(prompt: string, signal: AbortSignal): Promise<string>;
  /** What the person makes of a text in their editor; undefined if the editor failed. For the time it has the terminal. */
  edit(text: string, name: string, env: Env, signal: AbortSignal): Promise<string | undefined>;
  /** Shows a text in the pager that `PAGER` names; false if there is none, or it failed. */
  page(text: string, env: Env, signal: AbortSignal): Promise<boolean>;
  /** Gives the terminal back as it was. */
  close(): void;
}

type Keys = { has(key: string): boolean };

export const INTERRUPT = '\u0003';
export const CONTINUED = 'continued';
const SUSPEND = '\u001a';

/** Longer than a typist needs from key to key, so that the middle of a sentence answers no question. */
const QUIET_MS = 300;
/** The same after somebody has been seen typing: people stop to think. */
const TYPIST_QUIET_MS = 1000;

/** Where the terminal of this process is found. */
export const TTY_PATH = process.platform === 'win32' ? '\\\\.\\CONIN$' : '/dev/tty';

/** Opens the terminal this process belongs to; undefined if there is none. */
export function openTty(): Tty | undefined {
  let descriptor: number | undefined;
  try {
    const flags = process.platform === 'win32' ? constants.O_RDWR : constants.O_RDONLY;
    descriptor = openSync(TTY_PATH, flags | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0));
    return ttyOn(ttyStream(descriptor), descriptor);
  } catch {
    if (descriptor !== undefined) closeSync(descriptor);
    return undefined;
  }
}

function ttyOn(stream: TtyStream, descriptor: number): Tty {
  stream.setEncoding('utf8');
  stream.on('error', () => {});
  // The stream works on a descriptor of its own; ours is closed once it is gone.
  stream.once('close', () => isatty(descriptor) && closeSync(descriptor));
  return {
    get columns() {
      return process.stderr.columns || 80;
    },
    get rows() {
      return process.stderr.rows || 24;
    },
    key: (keys, show, signal) => pressedKey({ stream, descriptor, keys }, show, signal),
    line: async (prompt, signal) => {
      const { typedLine } = await import('./typed-line.ts');
      return (await typedLine({ input: stream, prompt }, signal)) ?? INTERRUPT;
    },
    edit: async (text, name, env, signal) => {
      const { editedText } = await import('../process/editor.ts');
      return editedText({ text, name, env, terminal: TTY_PATH }, signal);
    },
    page: async (text, env, signal) => {
      if (!env.PAGER) return false;
      const { pagedText } = await import('../process/editor.ts');
      return pagedText({ text, pager: env.PAGER, env, terminal: TTY_PATH }, signal);
    },
    close: () => {
      stream.setRawMode(false);
      stream.destroy();
    },
  };
}

interface Keyboard {
  readonly stream: TtyStream;
  readonly descriptor: number;
  readonly keys: Keys;
}

/** In raw mode a terminal sends Ctrl+C and Ctrl+Z as characters, so both are our business here. */
async function pressedKey(keyboard: Keyboard, show: () => Promise<void>, signal: AbortSignal): Promise<string> {
  const { stream } = keyboard;
  let take: (chunk: string) => void = () => {};
  const listen = (listener: (chunk: string) => void): void => {
    take = listener;
  };
  const onData = (chunk: string): void => take(chunk);
  const onEnd = (): void => take(INTERRUPT);
  const suspension = suspendable(
    () => stream.setRawMode(false),
    () => {
      stream.setRawMode(true);
      take(CONTINUED);
    },
  );
  stream.setRawMode(true);
  stream.on('data', onData);
  stream.on('end', onEnd);
  stream.resume();
  signal.addEventListener('abort', onEnd, { once: true });
  try {
    if (signal.aborted || (await isInterrupted(keyboard, listen))) return INTERRUPT;
    let isShown = false;
    const pressed = new Promise<string>((resolve) => {
      listen((chunk) => {
        if (chunk.includes(INTERRUPT)) resolve(INTERRUPT);
        else if (chunk === CONTINUED) resolve(CONTINUED);
        else if (chunk === SUSPEND) suspension.start();
        else if (isShown && keyboard.keys.has(keyOf(chunk))) resolve(keyOf(chunk));
      });
    });
    await show();
    isShown = true;
    return await pressed;
  } finally {
    suspension.end();
    stream.off('data', onData);
    stream.off('end', onEnd);
    signal.removeEventListener('abort', onEnd);
    stream.setRawMode(false);
    stream.pause();
  }
}

/** With an input method for Japanese switched on, a letter comes in its full-width form. */
function keyOf(chunk: string): string {
  return chunk.normalize('NFKC').toLowerCase();
}

/** Waits until the keyboard is quiet; true if that was said to be in vain. */
function isInterrupted(keyboard: Keyboard, listen: (listener: (chunk: string) => void) => void): Promise<boolean> {
  return new Promise((resolve) => {
    const look = (): void => {
      const typed = drained(keyboard);
      if (typed === '') resolve(false);
      else take(typed);
    };
    let timer = setTimeout(look, QUIET_MS);
    const take = (chunk: string): void => {
      clearTimeout(timer);
      if (chunk.includes(INTERRUPT)) resolve(true);
      else timer = setTimeout(look, TYPIST_QUIET_MS);
    };
    listen(take);
    // What was typed while nobody asked.
    const ahead = drained(keyboard);
    if (ahead !== '') take(ahead);
  });
}

/** Takes what has been typed and not been read, without waiting. */
function drained({ descriptor }: Keyboard): string {
  if (process.platform === 'win32') return '';
  const buffer = Buffer.alloc(4096);
  let typed = '';
  try {
    for (;;) {
      const length = readSync(descriptor, buffer);
      if (length === 0) return typed;
      typed += buffer.toString('latin1', 0, length);
    }
  } catch {
    // EAGAIN: there is no more.
    return typed;
  }
}

/** What goes on when a person sends the program to the background and back. */
export interface Suspension {
  /** Goes to the background, with all of a pipeline, as the terminal itself would; false where there is none. */
  start(): boolean;
  /** From now on the system does what it does. */
  end(): void;
}

/**
 * While this holds, going to the background calls `giveBack` first, and coming back calls `takeAgain`. Where nobody could
 * bring us back, as without a shell, the system keeps us here, and both are called one after the other.
 */
export function suspendable(giveBack: () => void, takeAgain: () => void): Suspension {
  if (process.platform === 'win32') return { start: () => false, end: () => {} };
  let isAway = false;
  const onContinue = (): void => {
    isAway = false;
    takeAgain();
  };
  const onStop = (): void => {
    giveBack();
    isAway = true;
    // SIGSTOP would stop us in any case; what SIGTSTP does by itself is what the system thinks right.
    process.off('SIGTSTP', onStop);
    process.kill(process.pid, 'SIGTSTP');
    process.on('SIGTSTP', onStop);
    // Whoever was brought back hears of it in the turn of the loop between these two.
    setImmediate(() => setImmediate(() => isAway && onContinue()));
  };
  process.on('SIGTSTP', onStop);
  process.on('SIGCONT', onContinue);
  return {
    start: () => process.kill(0, 'SIGTSTP'),
    end: () => {
      isAway = false;
      process.off('SIGTSTP', onStop);
      process.off('SIGCONT', onContinue);
    },
  };
}
