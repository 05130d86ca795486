import { AppError } from '../../core/error.ts';
import type { Env, Io, Out } from '../../core/io.ts';
import { after } from '../runtime/clock.ts';
import { type OutputStream, outputStream } from './output-stream.ts';

const DONE = Promise.resolve();

/** How long the last words of a run that was ended may wait for a reader that does not read. */
const PATIENCE_MS = 200;

/** How much may be gathered into one write; what a pipe of Linux holds. */
const GATHERED_LENGTH = 65_536;

/** The process's stdout and stderr. `flush` resolves when all that was written has left, and rejects if it could not. */
export interface ProcessIo extends Io {
  flush(): Promise<void>;
  /** As `App.hurry`. */
  hurry(reason: AppError): void;
}

/** Opens the two streams only when they are first used: touching them costs a module each. */
export function processIo(color: ColorChoice, env: Env): ProcessIo {
  const out = lazyOut(() => outputStream(1), color, env);
  const err = unfailing(
    lazyOut(() => outputStream(2), color, env),
    out.release,
  );
  return {
    out,
    err,
    hurry: (reason) => {
      out.hurry(reason);
      err.hurry(reason);
    },
    flush: async () => void (await Promise.all([out.flush(), err.flush()])),
  };
}

interface ProcessOut extends Out {
  /** Sends what is still being gathered. */
  release(): void;
  flush(): Promise<void>;
  hurry(reason: AppError): void;
}

function lazyOut(open: () => OutputStream, color: ColorChoice, env: Env): ProcessOut {
  let stream: OutputStream | undefined;
  let hasRoom = true;
  const state = hopes();
  const get = (): OutputStream => {
    if (stream === undefined) {
      const opened = open();
      stream = opened;
      opened.on('error', (error: NodeJS.ErrnoException) => state.fail(writeFailure(error, opened.isTTY)));
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
  const { add, release } = gathering(send);
  return {
    write(chunk) {
      if (state.failure) return Promise.reject(state.failure);
      // On a terminal each piece shall be seen as it comes, and others write to it as well.
      if (get().isTTY) send(chunk);
      else add(chunk);
      return hasRoom ? DONE : state.settled((done) => get().once('drain', done));
    },
    release,
    flush() {
      release();
      if (state.failure) return Promise.reject(state.failure);
      if (stream === undefined || (hasRoom && stream.writableLength === 0)) return DONE;
      // Of one that fails, the callback may come before the event; that one lets us down.
      return state.settled((done) => get().write('', (error) => error || done()));
    },
    hurry: (reason) =>
      endQueue(
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
    get isStyled() {
      return mayStyle(color, env, get().isTTY === true);
    },
  };
}

interface Hopes {
  /** What became of the stream, if it can be written to no more. */
  readonly failure: AppError | undefined;
  /** Lets down all who wait, now and later; the first reason stays. */
  fail(error: AppError): void;
  /** Resolves when `start` says that it is done. */
  settled(start: (done: () => void) => void): Promise<void>;
}

/** Those who wait for a stream that may never drain. */
function hopes(): Hopes {
  let failure: AppError | undefined;
  const waiting = new Set<(error: AppError) => void>();
  return {
    get failure() {
      return failure;
    },
    fail(error) {
      failure ??= error;
      for (const reject of waiting) reject(failure);
      waiting.clear();
    },
    settled: (start) =>
      new Promise((resolve, reject) => {
        waiting.add(reject);
        start(() => {
          waiting.delete(reject);
          resolve();
        });
      }),
  };
}

/** Gives a queue that nobody reads a moment, then gives it up; what is left in it after that does not keep the process alive. */
function endQueue(isQueued: () => boolean, giveUp: () => void, exitCode: number): void {
  after(PATIENCE_MS, () => {
    if (!isQueued()) return;
    giveUp();
    // Node lets no one close these streams.
    after(PATIENCE_MS, () => process.exit(exitCode));
  });
}

interface Gathering {
  add(chunk: string): void;
  release(): void;
}

/**
 * Of what is added in one turn of the event loop, the first piece is written at once and the rest together, at the end of
 * that turn: an answer that comes faster than it can be shown costs a write for each batch, not for each word.
 */
function gathering(write: (text: string) => void): Gathering {
  let rest = '';
  let isGathering = false;
  const release = (): void => {
    const text = rest;
    rest = '';
    if (text !== '') write(text);
  };
  return {
    release,
    add(chunk) {
      if (!isGathering) {
        isGathering = true;
        process.nextTick(() => {
          isGathering = false;
          release();
        });
        return write(chunk);
      }
      rest += chunk;
      if (rest.length >= GATHERED_LENGTH) release();
    },
  };
}

/**
 * Words to the person that cannot be written are no reason to fail a run that has its answer. What was written `before`
 * comes before them: both may go to one place.
 */
function unfailing(err: ProcessOut, before: () => void): ProcessOut {
  const ignore = (): void => {};
  const write = (chunk: string): Promise<void> => {
    before();
    const written = err.write(chunk).catch(ignore);
    err.release();
    return written;
  };
  return Object.defineProperties(Object.create(err), {
    write: { value: write },
    flush: { value: () => err.flush().catch(ignore) },
  });
}

/** A reader that went away is no fault of ours; a full disk is. */
function writeFailure(error: NodeJS.ErrnoException, isTerminal: boolean): AppError {
  // The window was closed, or the connection to it lost; SIGHUP says the same, now or in a moment.
  if (error.code === 'EIO' && isTerminal) return new AppError('hangup', 'the terminal is gone', { cause: error });
  if (error.code === 'EPIPE' || error.code === 'ECONNRESET') {
    return new AppError('pipe', 'the reader closed the pipe', { cause: error });
  }
  return new AppError('internal', `cannot write the output: ${error.message}`, {
    cause: error,
    hint: 'Check that there is room where the output goes.',
  });
}

/** Whether a person sits there: stdin and stderr are both terminals. */
export function isAttended(): boolean {
  // Seldom asked, so it is loaded only then.
  const { isatty } = process.getBuiltinModule('node:tty');
  return isatty(0) && isatty(2);
}

export type ColorChoice = 'auto' | 'always' | 'never';

/**
 * Whether styling may be written to a stream. The flag wins, then NO_COLOR, then FORCE_COLOR and CLICOLOR_FORCE
 * (`0` turns off), then TERM=dumb; otherwise it depends on whether that very stream is a terminal.
 */
function mayStyle(choice: ColorChoice, env: Env, isTerminal: boolean): boolean {
  if (choice !== 'auto') return choice === 'always';
  if (env.NO_COLOR) return false;
  const forced = env.FORCE_COLOR ?? env.CLICOLOR_FORCE;
  if (forced !== undefined && forced !== '') return forced !== '0' && forced !== 'false';
  return isTerminal && env.TERM !== 'dumb';
}
