import { type ColorChoice, mayStyle } from '../core/color.ts';
import { AppError } from '../core/error.ts';
import type { Env, Io, Out } from '../core/io.ts';
import { type OutputStream, outputStream } from './output-stream.ts';

const DONE = Promise.resolve();

/** How long the last words of a run that was ended may wait for a reader that does not read. */
const PATIENCE_MS = 200;

/** The process's stdout and stderr. `flush` resolves when all that was written has left, and rejects if it could not. */
export interface ProcessIo extends Io {
  flush(): Promise<void>;
  /** As `App.hurry`. */
  hurry(reason: AppError): void;
}

/** Opens the two streams only when they are first used: touching them costs a module each. */
export function processIo(color: ColorChoice, env: Env): ProcessIo {
  const out = lazyOut(() => outputStream(1), color, env);
  const err = unfailing(lazyOut(() => outputStream(2), color, env));
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
  flush(): Promise<void>;
  hurry(reason: AppError): void;
}

function lazyOut(open: () => OutputStream, color: ColorChoice, env: Env): ProcessOut {
  let stream: OutputStream | undefined;
  let failure: AppError | undefined;
  const waiting = new Set<(error: AppError) => void>();
  const fail = (error: AppError): void => {
    failure ??= error;
    for (const reject of waiting) reject(failure);
    waiting.clear();
  };
  const get = (): OutputStream => {
    if (stream === undefined) {
      const opened = open();
      stream = opened;
      opened.on('error', (error: NodeJS.ErrnoException) => fail(writeFailure(error, opened.isTTY)));
    }
    return stream;
  };
  const settled = (start: (done: () => void) => void): Promise<void> =>
    new Promise((resolve, reject) => {
      waiting.add(reject);
      start(() => {
        waiting.delete(reject);
        resolve();
      });
    });
  return {
    write(chunk) {
      if (failure) return Promise.reject(failure);
      if (get().write(chunk)) return DONE;
      return settled((done) => get().once('drain', done));
    },
    flush() {
      if (failure) return Promise.reject(failure);
      if (stream === undefined || stream.writableLength === 0) return DONE;
      return settled((done) => get().write('', () => done()));
    },
    hurry(reason) {
      setTimeout(() => {
        if (stream === undefined || stream.writableLength === 0) return;
        fail(reason);
        // What is queued keeps the process alive for as long as nobody reads it, and Node lets no one close these streams.
        setTimeout(() => process.exit(reason.exitCode), PATIENCE_MS).unref();
      }, PATIENCE_MS).unref();
    },
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

/** Words to the person that cannot be written are no reason to fail a run that has its answer. */
function unfailing(out: ProcessOut): ProcessOut {
  const ignore = (): void => {};
  return Object.defineProperties(Object.create(out), {
    write: { value: (chunk: string) => out.write(chunk).catch(ignore) },
    flush: { value: () => out.flush().catch(ignore) },
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
