import { closeSync, constants, openSync, readSync } from 'node:fs';
import { isatty } from 'node:tty';
import type { Env } from '../../core/io.ts';
import { closeLostTerminal } from '../runtime/signals.ts';
import { type TtyStream, ttyStream } from './input-stream.ts';
import { handleSuspension } from './suspension.ts';

export interface Tty {
  readonly columns: number;
  readonly rows: number;
  /**
   * Discards typed input until the keyboard has been quiet for a moment, calls `show`, and resolves with the first of
   * `keys` typed after that: a letter, a sign or a control character. A letter that is a key in lower case only is that key. A paste is not a key. `INTERRUPT` stands for
   * Ctrl+C, an abort and the end of the terminal, `CONTINUED` for a resume after suspension; both may always be
   * returned. `OTHER_KEY`, if it is one of `keys`, stands for everything else that is typed.
   */
  key(keys: Keys, show: () => Promise<void>, signal: AbortSignal): Promise<string>;
  /**
   * With `atEnd`, input typed ahead is discarded first, and that is the answer at Ctrl+D, and at Esc on an empty line; with
   * `isEscapable` on any line.
   */
  line(
    prompt: string,
    signal: AbortSignal,
    options?: { readonly atEnd: string; readonly isEscapable?: true },
  ): Promise<string>;
  /** The editor has the terminal meanwhile; undefined if it failed. */
  edit(text: string, name: string, env: Env, signal: AbortSignal): Promise<string | undefined>;
  /** Shows a text in the pager named by `PAGER`; false if there is none, or it failed. */
  page(text: string, env: Env, signal: AbortSignal): Promise<boolean>;
  close(): void;
}

type Keys = { has(key: string): boolean };

export const INTERRUPT = '\u0003';
export const CONTINUED = 'continued';
export const OTHER_KEY = 'other';
const SUSPEND = '\u001a';

/** Longer than the pause between two keys, so that text typed ahead answers no question. */
const QUIET_MS = 300;
/** Longer once something was typed: people pause to think. */
const TYPIST_QUIET_MS = 1000;

export const TTY_PATH = process.platform === 'win32' ? '\\\\.\\CONIN$' : '/dev/tty';

export function openTty(): Tty | undefined {
  let descriptor: number | undefined;
  try {
    const flags = process.platform === 'win32' ? constants.O_RDWR : constants.O_RDONLY;
    descriptor = openSync(TTY_PATH, flags | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0));
    return createTty(ttyStream(descriptor), descriptor);
  } catch {
    if (descriptor !== undefined) closeSync(descriptor);
    return undefined;
  }
}

function createTty(stream: TtyStream, descriptor: number): Tty {
  stream.setEncoding('utf8');
  stream.on('error', () => {});
  // The stream has its own descriptor; ours is closed with it.
  stream.once('close', () => isatty(descriptor) && closeSync(descriptor));
  return {
    get columns() {
      return process.stderr.columns || 80;
    },
    get rows() {
      return process.stderr.rows || 24;
    },
    key: (keys, show, signal) => waitForKey({ stream, descriptor, keys }, show, signal),
    line: async (prompt, signal, options) => {
      const { readTypedLine } = await import('./typed-line.ts');
      const keyboard = { stream, descriptor, keys: new Set<string>() };
      if (options && (await withRawInput(keyboard, signal, ({ listen }) => waitForQuiet(keyboard, listen)))) {
        return INTERRUPT;
      }
      return (await readTypedLine({ input: stream, prompt, ...options }, signal)) ?? INTERRUPT;
    },
    edit: async (text, name, env, signal) => {
      const { editInEditor } = await import('../process/editor.ts');
      return editInEditor({ text, name, env, terminal: TTY_PATH }, signal);
    },
    page: async (text, env, signal) => {
      if (!env.PAGER) return false;
      const { showInPager } = await import('../process/editor.ts');
      return showInPager({ text, pager: env.PAGER, env, terminal: TTY_PATH }, signal);
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

interface RawInput {
  /** From now on this gets what is typed. */
  listen(listener: (chunk: string) => void): void;
  suspend(): void;
}

/** In raw mode a terminal sends Ctrl+C and Ctrl+Z as characters. */
async function withRawInput<Result>(
  { stream }: Keyboard,
  signal: AbortSignal,
  work: (input: RawInput) => Promise<Result>,
): Promise<Result> {
  let take: (chunk: string) => void = () => {};
  const listen = (listener: (chunk: string) => void): void => {
    take = listener;
  };
  const onData = (chunk: string): void => take(chunk);
  const onAbort = (): void => take(INTERRUPT);
  const onEnd = (): void => {
    closeLostTerminal();
    take(INTERRUPT);
  };
  const suspension = handleSuspension(
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
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await work({ listen, suspend: () => suspension.start() });
  } finally {
    suspension.end();
    stream.off('data', onData);
    stream.off('end', onEnd);
    signal.removeEventListener('abort', onAbort);
    stream.setRawMode(false);
    stream.pause();
  }
}

async function waitForKey(keyboard: Keyboard, show: () => Promise<void>, signal: AbortSignal): Promise<string> {
  return withRawInput(keyboard, signal, async ({ listen, suspend }) => {
    if (signal.aborted || (await waitForQuiet(keyboard, listen))) return INTERRUPT;
    let isShown = false;
    const pressed = new Promise<string>((resolve) => {
      listen((chunk) => {
        if (chunk.includes(INTERRUPT)) resolve(INTERRUPT);
        else if (chunk === CONTINUED) resolve(CONTINUED);
        else if (chunk === SUSPEND) suspend();
        else if (isShown) {
          const key = findKey(chunk, keyboard.keys);
          if (key !== undefined) resolve(key);
        }
      });
    });
    await show();
    isShown = true;
    return pressed;
  });
}

/** With a Japanese input method switched on, a letter arrives in its full-width form. */
function findKey(chunk: string, keys: Keys): string | undefined {
  const typed = chunk.normalize('NFKC');
  return [typed, typed.toLowerCase(), OTHER_KEY].find((key) => keys.has(key));
}

function waitForQuiet(keyboard: Keyboard, listen: (listener: (chunk: string) => void) => void): Promise<boolean> {
  return new Promise((resolve) => {
    const check = (): void => {
      const typed = readTyped(keyboard);
      if (typed === '') resolve(false);
      else take(typed);
    };
    let timer = setTimeout(check, QUIET_MS);
    const take = (chunk: string): void => {
      clearTimeout(timer);
      if (chunk.includes(INTERRUPT)) resolve(true);
      else timer = setTimeout(check, TYPIST_QUIET_MS);
    };
    listen(take);
    const ahead = readTyped(keyboard);
    if (ahead !== '') take(ahead);
  });
}

function readTyped({ descriptor }: Keyboard): string {
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
    // EAGAIN: no more.
    return typed;
  }
}
