import { createInterface } from 'node:readline';
import type { TtyStream } from './input-stream.ts';

/** Shown on stderr; empty at Ctrl+D, undefined at Ctrl+C, an abort or the terminal's end. */
export function readTypedLine(
  { input, prompt }: { readonly input: TtyStream; readonly prompt: string },
  signal: AbortSignal,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve(undefined);
    const lines = createInterface({ input, output: process.stderr, terminal: true, historySize: 0 });
    const finish = (text: string | undefined): void => {
      signal.removeEventListener('abort', onStop);
      resolve(text);
      lines.close();
    };
    const onStop = (): void => {
      process.stderr.write('\n');
      finish(undefined);
    };
    signal.addEventListener('abort', onStop, { once: true });
    lines.once('SIGINT', onStop);
    lines.once('line', (text) => finish(text));
    // No effect after any of the above.
    lines.once('close', () => finish(''));
    lines.setPrompt(prompt);
    lines.prompt();
  });
}
