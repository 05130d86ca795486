import { type IPty, spawn } from '@lydell/node-pty';
import type { TestContext } from 'vitest';
import { type GmnOptions, gmnCommand, place } from './gmn.ts';

export interface Terminal {
  type(keys: string): void;
  /** Rejects with the output so far if the program ends before it is like this. */
  until(wanted: RegExp | ((output: string) => boolean)): Promise<string>;
  readonly ended: Promise<{ readonly exitCode: number; readonly output: string }>;
  resize(columns: number, rows: number): void;
  kill(signal: string): void;
  /** Closes the terminal. */
  hangUp(): void;
}

export function runInTerminal(
  t: TestContext,
  args: readonly string[],
  options: GmnOptions & {
    readonly columns?: number;
    readonly rows?: number;
    /** A place that is there, instead of a new one. */
    readonly at?: Pick<ReturnType<typeof place>, 'cwd' | 'env'>;
  } = {},
): Terminal {
  const { cwd, env } = options.at ?? place(t, options);
  const pty: IPty = spawn(...gmnCommand(args), {
    cwd,
    env: { TERM: 'xterm-256color', ...env },
    cols: options.columns ?? 80,
    rows: options.rows ?? 24,
  });
  let output = '';
  let exitCode: number | undefined;
  let wake: () => void = () => {};
  pty.onData((data) => {
    output += data;
    wake();
  });
  const ended = new Promise<{ exitCode: number; output: string }>((resolve) => {
    pty.onExit((exit) => {
      exitCode = exit.exitCode || (exit.signal ? 128 + exit.signal : 0);
      resolve({ exitCode, output });
      wake();
    });
  });
  t.onTestFinished(() => {
    if (exitCode === undefined) pty.kill('SIGKILL');
  });
  return {
    type: (keys) => pty.write(keys),
    ended,
    resize: (columns, rows) => pty.resize(columns, rows),
    kill: (signal) => pty.kill(signal),
    hangUp: () => Reflect.get(pty, 'destroy').call(pty),
    async until(wanted) {
      while (!(wanted instanceof RegExp ? wanted.test(output) : wanted(output))) {
        if (exitCode !== undefined) throw new Error(`ended with ${exitCode} before ${wanted}:\n${output}`);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return output;
    },
  };
}

/** The states of the terminal that a script printed with `echo "STATE $(stty -g)"`. */
export function statesIn(output: string): readonly string[] {
  return [...output.matchAll(/^STATE (.*?)\r?$/gm)].map(([, state = '']) => state);
}
