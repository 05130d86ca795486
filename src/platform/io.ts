import { type ColorChoice, mayStyle } from '../core/color.ts';
import { AppError } from '../core/error.ts';
import type { Env, Io, Out } from '../core/io.ts';

const DONE = Promise.resolve();

/** The process's stdout and stderr. `flush` resolves when all that was written has left, and rejects if it could not. */
export interface ProcessIo extends Io {
  flush(): Promise<void>;
}

/** Opens the two streams only when they are first used: touching them costs a module each. */
export function processIo(color: ColorChoice, env: Env): ProcessIo {
  const out = lazyOut(() => process.stdout, color, env);
  const err = lazyOut(() => process.stderr, color, env);
  return {
    out,
    err,
    flush: async () => void (await Promise.all([out.flush(), err.flush().catch(() => {})])),
  };
}

interface FlushableOut extends Out {
  flush(): Promise<void>;
}

function lazyOut(open: () => NodeJS.WriteStream, color: ColorChoice, env: Env): FlushableOut {
  let stream: NodeJS.WriteStream | undefined;
  let failure: AppError | undefined;
  const waiting = new Set<(error: AppError) => void>();
  const get = (): NodeJS.WriteStream => {
    if (stream === undefined) {
      stream = open();
      stream.on('error', (error: NodeJS.ErrnoException) => {
        failure ??= writeFailure(error);
        for (const reject of waiting) reject(failure);
        waiting.clear();
      });
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

/** A reader that went away is no fault of ours; a full disk is. */
function writeFailure(error: NodeJS.ErrnoException): AppError {
  if (error.code === 'EPIPE' || error.code === 'ECONNRESET') {
    return new AppError('pipe', 'the reader closed the pipe', { cause: error });
  }
  return new AppError('internal', `cannot write the output: ${error.message}`, {
    cause: error,
    hint: 'Check that there is room where the output goes.',
  });
}
