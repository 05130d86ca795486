import { AppError } from '../../core/error.ts';
import { type Env, type Io, type Out, wrapOut } from '../../core/io.ts';
import { callAfter } from '../runtime/clock.ts';
import type { OutputStream } from './file-output.ts';
import { outputStream } from './output-stream.ts';

const DONE = Promise.resolve();

const GRACE_MS = 200;

/** The most that is batched into one write: the size of a Linux pipe. */
const MAX_BATCH_LENGTH = 65_536;

export interface ProcessIo extends Io {
  flush(): Promise<void>;
  expireWrites(reason: AppError): void;
}

/** Opens each stream on first use: touching it loads a module. */
export function processIo(color: ColorChoice, env: Env): ProcessIo {
  const out = lazyOut(() => outputStream(1), color, env);
  const err = ignoreFailures(
    lazyOut(() => outputStream(2), color, env),
    out.release,
  );
  return {
    out,
    err,
    expireWrites: (reason) => {
      out.expireWrites(reason);
      err.expireWrites(reason);
    },
    flush: async () => void (await Promise.all([out.flush(), err.flush()])),
  };
}

interface ProcessOut extends Out {
  release(): void;
  flush(): Promise<void>;
  expireWrites(reason: AppError): void;
}

function lazyOut(open: () => OutputStream, color: ColorChoice, env: Env): ProcessOut {
  let stream: OutputStream | undefined;
  let hasRoom = true;
  const state = pendingWrites();
  const get = (): OutputStream => {
    if (stream === undefined) {
      const opened = open();
      stream = opened;
      opened.on('error', (error: NodeJS.ErrnoException) => state.fail(writeError(error, opened.isTTY)));
    }
    return stream;
  };
  const send = (text: string): void => {
    if (state.failure !== undefined || get().write(text) || !hasRoom) return;
    hasRoom = false;
    get().once('drain', () => {
      hasRoom = true;
    });
  };
  const { add, release } = batchWrites(send);
  return {
    write(chunk) {
      if (state.failure) return Promise.reject(state.failure);
      // A terminal shows each piece as it comes, and other code writes to it as well.
      if (get().isTTY) send(chunk);
      else add(chunk);
      return hasRoom ? DONE : state.waitFor((done) => get().once('drain', done));
    },
    release,
    flush() {
      release();
      if (state.failure) return Promise.reject(state.failure);
      if (stream === undefined || (hasRoom && stream.writableLength === 0)) return DONE;
      // On failure the callback may come before the 'error' event; that event rejects the promise.
      return state.waitFor((done) => get().write('', (error) => error || done()));
    },
    expireWrites: (reason) =>
      expireQueue(
        () => (stream?.writableLength ?? 0) > 0,
        () => state.fail(reason),
        reason.exitCode,
      ),
    get isTerminal() {
      return get().isTTY === true;
    },
    get columns() {
      return get().columns || 80;
    },
    get rows() {
      return get().rows || 24;
    },
    onResize(listener) {
      process.on('SIGWINCH', listener);
      return () => void process.off('SIGWINCH', listener);
    },
    onSuspend(leave, enter) {
      let isOver = false;
      const opened = import('./suspension.ts').then(({ handleSuspension }) =>
        isOver ? undefined : handleSuspension(leave, enter),
      );
      return () => {
        isOver = true;
        void opened.then((suspension) => suspension?.end());
      };
    },
    get hasLinks() {
      return get().isTTY === true && showsLinks(env);
    },
    get isStyled() {
      return canStyle(color, env, get().isTTY === true);
    },
  };
}

function pendingWrites() {
  let failure: AppError | undefined;
  const waiting = new Set<(error: AppError) => void>();
  return {
    get failure() {
      return failure;
    },
    /** Rejects all waiting and future writes; the first reason stays. */
    fail(error: AppError) {
      failure ??= error;
      for (const reject of waiting) reject(failure);
      waiting.clear();
    },
    waitFor: (start: (done: () => void) => void) =>
      new Promise<void>((resolve, reject) => {
        waiting.add(reject);
        start(() => {
          waiting.delete(reject);
          resolve();
        });
      }),
  };
}

/** After a grace period it fails; what is left after another one does not keep the process alive. */
function expireQueue(isQueued: () => boolean, giveUp: () => void, exitCode: number): void {
  callAfter(GRACE_MS, () => {
    if (!isQueued()) return;
    giveUp();
    // Node does not let these streams be closed.
    callAfter(GRACE_MS, () => process.exit(exitCode));
  });
}

/** Writes the text of each event loop turn together at its end: a fast answer costs one write per batch, not per word. */
function batchWrites(write: (text: string) => void) {
  let pending = '';
  let isGathering = false;
  const release = (): void => {
    const released = pending;
    pending = '';
    if (released !== '') write(released);
  };
  const endTurn = (): void => {
    isGathering = false;
    release();
  };
  return {
    release,
    add(chunk: string) {
      if (chunk === '') return;
      if (pending.length + chunk.length > MAX_BATCH_LENGTH) release();
      pending += chunk;
      if (isGathering) return;
      isGathering = true;
      process.nextTick(endTurn);
    },
  };
}

/** A message that cannot be shown fails no run. `before` keeps the order where stdout and stderr go to one place. */
function ignoreFailures(err: ProcessOut, before: () => void): ProcessOut {
  const ignore = (): void => {};
  const write = (chunk: string): Promise<void> => {
    before();
    const written = err.write(chunk).catch(ignore);
    err.release();
    return written;
  };
  return wrapOut(err, { write, flush: () => err.flush().catch(ignore), spinners: new Set() });
}

function writeError(error: NodeJS.ErrnoException, isTerminal: boolean): AppError {
  // The window was closed, or its connection lost; SIGHUP usually follows.
  if (error.code === 'EIO' && isTerminal) return new AppError('hangup', 'the terminal is gone', { cause: error });
  if (error.code === 'EPIPE' || error.code === 'ECONNRESET') {
    return new AppError('pipe', 'the reader closed the pipe', { cause: error });
  }
  return new AppError('internal', `cannot write the output: ${error.message}`, {
    cause: error,
    hint: 'Check the free disk space where the output goes.',
  });
}

export function isInteractive(): boolean {
  const { isatty } = process.getBuiltinModule('node:tty');
  return isatty(0) && isatty(2);
}

export type ColorChoice = 'auto' | 'always' | 'never';

/**
 * Whether styling may be written to a stream. The flag wins, then NO_COLOR, then FORCE_COLOR and CLICOLOR_FORCE (`0`
 * disables), then TERM=dumb; otherwise it depends on whether that very stream is a terminal.
 */
function canStyle(choice: ColorChoice, env: Env, isTerminal: boolean): boolean {
  if (choice !== 'auto') return choice === 'always';
  if (env.NO_COLOR) return false;
  const forced = env.FORCE_COLOR ?? env.CLICOLOR_FORCE;
  if (forced !== undefined && forced !== '') return forced !== '0' && forced !== 'false';
  return isTerminal && env.TERM !== 'dumb';
}

/** Terminals known to show OSC 8; others may print the sequence. FORCE_HYPERLINK overrides that. */
function showsLinks(env: Env): boolean {
  if (env.FORCE_HYPERLINK) return env.FORCE_HYPERLINK !== '0';
  if (env.TERM === 'dumb' || env.TERM?.startsWith('screen')) return false;
  if (env.KITTY_WINDOW_ID || env.WT_SESSION || env.KONSOLE_VERSION || env.GHOSTTY_RESOURCES_DIR) return true;
  // VTE, the terminal of GNOME and others, has them since 0.50.
  if (Number(env.VTE_VERSION) >= 5000) return true;
  if (/^(?:alacritty|foot|contour|ghostty|xterm-(?:kitty|ghostty))/.test(env.TERM ?? '')) return true;
  return /^(?:iTerm\.app|WezTerm|vscode|ghostty|Hyper|rio|tabby|WarpTerminal)$/i.test(env.TERM_PROGRAM ?? '');
}
