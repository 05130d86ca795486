import { AppError } from '../core/error.ts';

/** Our standard output, for one writer alone. */
export interface ClaimedStdout {
  /** Resolves when there is room for more. Rejects with fault `pipe` once nobody reads. */
  write(text: string): Promise<void>;
  /** Resolves when there is room for more. Rejects as `write` does. */
  ready(): Promise<void>;
  /** Resolves when nobody reads any more. */
  readonly gone: Promise<void>;
}

/** Takes standard output for a protocol: whatever else is printed in this process, by whomever, goes to standard error. */
export function claimStdout(): ClaimedStdout {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr);
  let failure: AppError | undefined;
  let leave: () => void = () => {};
  const gone = new Promise<void>((resolve) => {
    leave = resolve;
  });
  stdout.on('error', (cause) => {
    failure = new AppError('pipe', 'the reader closed the pipe', { cause });
    leave();
  });
  const ready = async (): Promise<void> => {
    if (failure === undefined && stdout.writableNeedDrain) {
      await Promise.race([new Promise((resolve) => stdout.once('drain', resolve)), gone]);
    }
    if (failure !== undefined) throw failure;
  };
  return {
    gone,
    ready,
    write(text) {
      if (failure === undefined) write(text);
      return ready();
    },
  };
}
