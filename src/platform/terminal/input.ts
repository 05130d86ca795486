import type { Env } from '../../core/io.ts';
import { startTimer } from '../runtime/clock.ts';
import { closeLostTerminal } from '../runtime/signals.ts';
import { ttyStream } from './input-stream.ts';
import { handleSuspension, type Suspension } from './suspension.ts';

export interface TerminalInput {
  readonly columns: number;
  readonly rows: number;
  /**
   * Takes over the terminal: `listener` gets every byte typed, without echo, with pastes marked unless `isPlain`. Until
   * `stop`, the user may suspend and resume the program. However the process ends (except SIGKILL), the terminal modes
   * are restored. Calling it again changes nothing.
   */
  start(listener: TerminalListener, options: { readonly isPlain: boolean }): void;
  stop(): void;
  /** Enables reports of keys such as Shift+Enter, until `stop`; only for terminals that said they support it. */
  reportAllKeys(): void;
  /** False on Windows. */
  suspend(): boolean;
  /** The editor has the terminal meanwhile; undefined if that failed. */
  edit(text: string, env: Env, signal: AbortSignal): Promise<string | undefined>;
  after(ms: number, action: () => void): () => void;
}

interface TerminalListener {
  bytes(chunk: Uint8Array): void;
  onResize(): void;
  /** About to be suspended: other programs will write where the cursor is. */
  onSuspend(): void;
  onContinue(): void;
  onEnd(): void;
}

/** https://invisible-island.net/xterm/ctlseqs/ctlseqs.html#h2-Bracketed-Paste-Mode */
const MARK_PASTES = '\u001b[?2004h';
const ASK_KITTY = '\u001b[?u';
const UNMARK_PASTES = '\u001b[?2004l';
/** Disambiguated keys (1) with alternate keys (4), which give the key's position on a Latin keyboard. */
const PUSH_KITTY = '\u001b[>5u';
const POP_KITTY = '\u001b[<u';

export function createTerminalInput(): TerminalInput {
  let taken: TakenTerminal | undefined;
  // Asked only once: the answer may come late and must not reach another reader.
  let hasAsked = false;
  let hasKitty = false;
  const stop = (): void => {
    taken?.release();
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
      const [{ editInEditor }, { TTY_PATH }] = await Promise.all([import('../process/editor.ts'), import('./tty.ts')]);
      return editInEditor({ text, name: 'prompt.md', env, terminal: TTY_PATH }, signal);
    },
    after: startTimer,
  };
}

interface TakenTerminal {
  readonly suspension: Suspension;
  release(): void;
}

interface Modes {
  readonly marks: string;
  readonly unmarks: () => string;
}

/** A stream of its own, destroyed at the end: a merely paused one would still take a chunk from the next reader. */
function takeTerminal(listener: TerminalListener, { marks, unmarks }: Modes): TakenTerminal {
  const stream = ttyStream(0);
  const { stderr } = process;
  let isOurs = false;
  const enter = (): void => {
    // The shell may have changed the modes, which the stream does not notice.
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
  const suspension = handleSuspension(
    () => {
      listener.onSuspend();
      leave();
    },
    () => {
      enter();
      listener.onContinue();
    },
  );
  const onResize = (): void => listener.onResize();
  const onEnd = (): void => {
    closeLostTerminal();
    listener.onEnd();
  };
  stream.on('data', (chunk: Uint8Array) => listener.bytes(chunk));
  stream.on('error', onEnd);
  stream.on('end', onEnd);
  stderr.on('resize', onResize);
  process.on('exit', leave);
  enter();
  return {
    suspension,
    release() {
      leave();
      suspension.end();
      process.off('exit', leave);
      stderr.off('resize', onResize);
      stream.off('end', onEnd);
      stream.destroy();
    },
  };
}
