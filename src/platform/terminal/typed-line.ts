import { createInterface } from 'node:readline';
import type { TtyStream } from './input-stream.ts';

/**
 * Shown on stderr; empty at Ctrl+D, undefined at Ctrl+C, an abort or the terminal's end. `atEnd`, if given, is the result
 * at Ctrl+D, and at Esc on an empty line, with `isEscapable` on any.
 */
export function readTypedLine(
  {
    input,
    prompt,
    atEnd,
    isEscapable = false,
  }: {
    readonly input: TtyStream;
    readonly prompt: string;
    readonly atEnd?: string;
    readonly isEscapable?: boolean;
  },
  signal: AbortSignal,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve(undefined);
    const lines = createInterface({ input, output: process.stderr, terminal: true, historySize: 0 });
    const finish = (text: string | undefined): void => {
      signal.removeEventListener('abort', onStop);
      input.removeListener('keypress', onKey);
      resolve(text);
      lines.close();
    };
    const onStop = (): void => {
      process.stderr.write('\n');
      finish(undefined);
    };
    const onEnd = (): void => {
      if (atEnd !== undefined) process.stderr.write('\n');
      finish(atEnd ?? '');
    };
    const onKey = (_: string, key?: { readonly name?: string }): void => {
      if (atEnd !== undefined && key?.name === 'escape' && (isEscapable || lines.line === '')) onEnd();
    };
    input.on('keypress', onKey);
    signal.addEventListener('abort', onStop, { once: true });
    lines.once('SIGINT', onStop);
    lines.once('line', (text) => finish(text));
    // No effect after any of the above.
    lines.once('close', onEnd);
    lines.setPrompt(prompt);
    lines.prompt();
  });
}
