import { spawn } from '@lydell/node-pty';
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

export interface PtyOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
  /** Who runs it; root alone can choose. */
  readonly uid?: number;
  readonly gid?: number;
  onData?(data: string): void;
}

export interface Pty extends Omit<Terminal, 'until'> {
  output(): string;
  /** Rejects, with what `describe` says, if the program ends first. */
  waitUntil(isSo: () => boolean, describe: () => string): Promise<void>;
}

/** Starts a program on a pseudo-terminal. It ends with the test. */
export function startOnPty(
  t: TestContext,
  [file, args]: readonly [string, string[]],
  { cwd, env, columns = 80, rows = 24, onData, ...owner }: PtyOptions,
): Pty {
  const pty = spawn(file, args, { cwd, env: { TERM: 'xterm-256color', ...env }, cols: columns, rows, ...owner });
  let output = '';
  let exitCode: number | undefined;
  let wake = (): void => {};
  pty.onData((data) => {
    output += data;
    onData?.(data);
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
    ended,
    output: () => output,
    type: (keys) => pty.write(keys),
    resize: (width, height) => pty.resize(width, height),
    kill: (signal) => pty.kill(signal),
    hangUp: () => Reflect.get(pty, 'destroy').call(pty),
    async waitUntil(isSo, describe) {
      while (!isSo()) {
        if (exitCode !== undefined) throw new Error(`ended with ${exitCode} before ${describe()}`);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
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
  const { columns, rows } = options;
  const { output, waitUntil, ...terminal } = startOnPty(t, gmnCommand(args), { cwd, env, columns, rows });
  const matches = (wanted: Parameters<Terminal['until']>[0]): boolean =>
    wanted instanceof RegExp ? wanted.test(output()) : wanted(output());
  return {
    ...terminal,
    async until(wanted) {
      await waitUntil(
        () => matches(wanted),
        () => `${wanted}:\n${output()}`,
      );
      return output();
    },
  };
}

/** The states of the terminal that a script printed with `echo "STATE $(stty -g)"`. */
export function statesIn(output: string): readonly string[] {
  return [...output.matchAll(/^STATE (.*?)\r?$/gm)].map(([, state = '']) => state);
}
