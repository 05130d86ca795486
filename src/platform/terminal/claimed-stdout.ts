import { AppError } from '../../core/error.ts';
import type { ClaimedStdout } from '../../core/io.ts';
import { outputStream } from './output-stream.ts';

/** Reserves stdout for a protocol: whatever else this process prints there goes to stderr. */
export function claimStdout(): ClaimedStdout {
  const { stdout, stderr } = process;
  const own = outputStream(1);
  const write = own.write.bind(own);
  stdout.write = stderr.write.bind(stderr);
  let failure: AppError | undefined;
  let leave: () => void = () => {};
  const gone = new Promise<void>((resolve) => {
    leave = resolve;
  });
  own.on('error', (cause) => {
    failure = new AppError('pipe', 'the reader closed the pipe', { cause });
    leave();
  });
  const ready = async (): Promise<void> => {
    if (failure === undefined && own.writableNeedDrain) {
      await Promise.race([new Promise((resolve) => own.once('drain', () => resolve(undefined))), gone]);
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
