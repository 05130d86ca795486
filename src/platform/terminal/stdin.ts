import { fstatSync, read, type Stats } from 'node:fs';
import { AppError } from '../../core/error.ts';
import type { Stdin, StdinKind } from '../../core/io.ts';
import { errorReason } from '../runtime/system.ts';
import type { ByteStream } from './input-stream.ts';

const DESCRIPTOR = 0;
const CHUNK_BYTES = 262_144;

export const processStdin: Stdin = {
  kind: detectKind,
  isTerminal: async () => (await import('node:tty')).isatty(DESCRIPTOR),
  read: readAll,
};

function detectKind(): StdinKind {
  try {
    const status = fstatSync(DESCRIPTOR);
    if (status.isCharacterDevice()) return 'none';
    if (status.isFIFO() || isWindowsPipe(status)) return 'pipe';
    if (status.isSocket()) return 'socket';
    return status.isDirectory() ? 'directory' : 'file';
  } catch {
    return 'none';
  }
}

/** Node never calls one a FIFO. */
function isWindowsPipe(status: Stats): boolean {
  return process.platform === 'win32' && !status.isFile() && !status.isDirectory();
}

async function* readAll(signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
  try {
    switch (detectKind()) {
      case 'directory':
        throw new AppError('usage', 'stdin is a directory', {
          hint: 'Send its files: gmn -f <directory> "…"',
        });
      case 'file':
        return yield* readBlocks(signal);
      case 'pipe':
      case 'socket': {
        const { pipeStream } = await import('./input-stream.ts');
        return yield* readStream(() => pipeStream(DESCRIPTOR), signal);
      }
      case 'none': {
        const { isatty } = await import('node:tty');
        if (!isatty(DESCRIPTOR)) return yield* readBlocks(signal);
        const { ttyStream } = await import('./input-stream.ts');
        return yield* readStream(() => ttyStream(DESCRIPTOR), signal);
      }
    }
  } catch (thrown) {
    signal.throwIfAborted();
    if (thrown instanceof AppError) throw thrown;
    throw new AppError('usage', `cannot read stdin: ${errorReason(thrown)}`, {
      cause: thrown,
      hint: 'Use --no-stdin to go without it.',
    });
  }
}

/** Reads from files never block, so there is no pending read to cancel. */
async function* readBlocks(signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
  for (;;) {
    signal.throwIfAborted();
    const block = await new Promise<Uint8Array>((resolve, reject) => {
      read(DESCRIPTOR, Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES, null, (error, length, buffer) =>
        error === null ? resolve(buffer.subarray(0, length)) : reject(error),
      );
    });
    if (block.length === 0) return;
    yield block;
  }
}

async function* readStream(open: () => ByteStream, signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
  signal.throwIfAborted();
  const stream = open();
  const stop = (): void => {
    stream.destroy();
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    for await (const chunk of stream) if (chunk instanceof Uint8Array) yield chunk;
    signal.throwIfAborted();
  } finally {
    signal.removeEventListener('abort', stop);
    stream.destroy();
  }
}
