import type { Env } from '../../core/io.ts';
import { startTimer } from '../runtime/clock.ts';
import { closeLostTerminal } from '../runtime/signals.ts';
import { ttyStream } from './input-stream.ts';
import { type Suspension, suspendable } from './tty.ts';

/** The keyboard and the window of the terminal behind stdin and stderr. */
export interface TerminalInput {
  readonly columns: number;
  readonly rows: number;
  /**
   * Takes the terminal: what is typed comes to `listener` byte for byte, unechoed, and pastes are marked unless `isPlain`.
   * Until `stop`, a person may send the program to the background and back. However the process ends (KILL apart), the
   * terminal is given back as it was. Calling it again changes nothing.
   */
  start(listener: TerminalListener, options: { readonly isPlain: boolean }): void;
  /** Gives the terminal back as it was. What is typed from now on is left for others. */
  stop(): void;
  /** Has the terminal report keys such as Shift+Enter, until `stop`; for terminals that have said they can. */
  reportAllKeys(): void;
  /** Sends the program to the background, in a moment; false where there is none. */
  suspend(): boolean;
  /** What the person makes of a text in their editor, which has the terminal meanwhile; undefined if that failed. */
  edit(text: string, env: Env, signal: AbortSignal): Promise<string | undefined>;
  /** Calls `action` after `ms`, unless the returned function is called before. */
  after(ms: number, action: () => void): () => void;
}

interface TerminalListener {
  bytes(chunk: Uint8Array): void;
  resized(): void;
  /** Back from the background: the screen may show anything. */
  continued(): void;
  /** The terminal is gone. */
  ended(): void;
}

/** https://invisible-island.net/xterm/ctlseqs/ctlseqs.html#h2-Bracketed-Paste-Mode, and the question whether kitty's keys are known. */
const MARK_PASTES = '\u001b[?2004h';
const ASK_KITTY = '\u001b[?u';
const UNMARK_PASTES = '\u001b[?2004l';
/** Disambiguated keys (1), with the key's place on a Latin keyboard (4). */
const PUSH_KITTY = '\u001b[>5u';
const POP_KITTY = '\u001b[<u';

/** The terminal of this process. Creating it does nothing. */
export function systemTerminal(): TerminalInput {
  let taken: Taken | undefined;
  // One question is enough: its answer may come late, and must not find anybody else there.
  let hasAsked = false;
  let hasKitty = false;
  const stop = (): void => {
    taken?.giveBack();
    taken = undefined;
  };
  return {
    get columns() {
      return process.stderr.columns || 80;
    },
    get rows() {
      return process.stderr.rows || 24;
    },
    start(listener, { isPlain }) {
      if (taken !== undefined) return;
      const marks = isPlain ? '' : hasKitty ? MARK_PASTES + PUSH_KITTY : MARK_PASTES;
      taken = takeTerminal(listener, {
        marks: hasAsked || isPlain ? marks : marks + ASK_KITTY,
        unmarks: () => (isPlain ? '' : hasKitty ? POP_KITTY + UNMARK_PASTES : UNMARK_PASTES),
      });
      hasAsked = true;
    },
    stop,
    reportAllKeys() {
      if (hasKitty || taken === undefined) return;
      hasKitty = true;
      process.stderr.write(PUSH_KITTY);
    },
    suspend: () => taken?.suspension.start() ?? false,
    async edit(text, env, signal) {
      const [{ editedText }, { TTY_PATH }] = await Promise.all([import('../process/editor.ts'), import('./tty.ts')]);
      return editedText({ text, name: 'prompt.md', env, terminal: TTY_PATH }, signal);
    },
    after: startTimer,
  };
}

interface Taken {
  readonly suspension: Suspension;
  giveBack(): void;
}

interface Modes {
  readonly marks: string;
  readonly unmarks: () => string;
}

/** A stream of its own, destroyed at the end: one that is merely paused would still take a chunk from those who come after. */
function takeTerminal(listener: TerminalListener, { marks, unmarks }: Modes): Taken {
  const stream = ttyStream(0);
  const { stderr } = process;
  let isOurs = false;
  const enter = (): void => {
    // The shell may have changed the modes behind our back, of which the stream knows nothing.
    stream.setRawMode(false);
    stream.setRawMode(true);
    stderr.write(marks);
    isOurs = true;
  };
  const leave = (): void => {
    if (!isOurs) return;
    isOurs = false;
    stderr.write(unmarks());
    stream.setRawMode(false);
  };
  const suspension = suspendable(leave, () => {
    enter();
    listener.continued();
  });
  const onResize = (): void => listener.resized();
  const onEnd = (): void => {
    closeLostTerminal();
    listener.ended();
  };
  stream.on('data', (chunk: Uint8Array) => listener.bytes(chunk));
  stream.on('error', onEnd);
  stream.on('end', onEnd);
  stderr.on('resize', onResize);
  process.on('exit', leave);
  enter();
  return {
    suspension,
    giveBack() {
      leave();
      suspension.end();
      process.off('exit', leave);
      stderr.off('resize', onResize);
      stream.off('end', onEnd);
      stream.destroy();
    },
  };
}
