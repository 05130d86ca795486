import { AppError } from '../../core/error.ts';
import { ttyStream } from './input-stream.ts';

/** Bracketed-paste marks, and other keys that send a sequence. */
const SEQUENCES = /\x1b\[[0-9;?]*[ -/]*[@-~]|\x1bO./g;

/** Without echo, from the terminal behind stdin. Throws AppError `interrupted` at Ctrl-C, `usage` at Ctrl-D. */
export function askSecret(question: string, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const terminal = ttyStream(0);
    let typed = '';
    const finish = (settle: () => void): void => {
      signal.removeEventListener('abort', onAbort);
      terminal.setRawMode(false);
      terminal.destroy();
      process.stderr.write('\n');
      settle();
    };
    const onAbort = (): void => finish(() => reject(signal.reason));
    signal.addEventListener('abort', onAbort, { once: true });
    terminal.on('error', (cause) => finish(() => reject(terminalError(cause))));
    terminal.on('end', () => finish(() => reject(emptyKeyError())));
    terminal.setEncoding('utf8');
    terminal.setRawMode(true);
    process.stderr.write(question);
    terminal.on('data', (chunk: string) => {
      for (const character of chunk.replace(SEQUENCES, '')) {
        if (character === '\r' || character === '\n') return finish(() => resolve(typed));
        if (character === '\x03') return finish(() => reject(new AppError('interrupted', 'Interrupted.')));
        if (character === '\x04') return finish(() => reject(emptyKeyError()));
        if (character === '\x15') typed = '';
        else if (character === '\x7f' || character === '\b') typed = [...typed].slice(0, -1).join('');
        else if (character >= ' ') typed += character;
      }
    });
  });
}

function emptyKeyError(): AppError {
  return new AppError('usage', 'no key was given', { hint: 'Run it again and paste the key, then press Enter.' });
}

function terminalError(cause: unknown): AppError {
  return new AppError('usage', 'cannot read from the terminal', {
    cause,
    hint: 'Pipe the key in instead: gmn auth set-key --stdin < file',
  });
}
