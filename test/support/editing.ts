import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'vitest';
import { GMN, gmnCommand } from './gmn.ts';
import { startOnPty } from './pty.ts';
import { type TestScreen, testScreen } from './screen.ts';

export interface EditingOptions {
  readonly args?: readonly string[];
  readonly columns?: number;
  readonly rows?: number;
  readonly history?: readonly string[];
  /** A shell script that edits the file `$1`. */
  readonly editor?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Under a shell with job control, which prints the state of the terminal and resumes the program as soon as it stops. */
  readonly hasJobs?: boolean;
  /** Without a shell: the program itself leads its session. */
  readonly isAlone?: boolean;
}

export interface Editing {
  readonly directory: string;
  readonly output: string;
  readonly screen: TestScreen;
  type(keys: string): void;
  /** Rejects with the screen if the program ends first. */
  until(isSo: () => boolean): Promise<void>;
  /** Resolves once the last rows of the screen are these, with the cursor where one of them has `|`. */
  shows(...rows: readonly string[]): Promise<void>;
  said(): Promise<unknown>;
  resize(columns: number, rows: number): void;
  signal(name: NodeJS.Signals): void;
  /** Closes the terminal. */
  hangUp(): void;
  readonly ended: Promise<number>;
}

/** Runs the editor on a pseudo-terminal, and prints the state of that terminal before and after. */
export function editing(t: TestContext, program: string, options: EditingOptions = {}): Editing {
  const { columns = 80, rows = 24, history = [] } = options;
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'gmn-editing-')));
  t.onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  writeFileSync(join(directory, 'editor.sh'), options.editor ?? 'exit 1');
  writeFileSync(join(directory, 'history'), history.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
  const look = 'echo "STATE $(stty -g)"';
  const back = options.hasJobs ? `${look}; fg > /dev/null; code=$?;` : '';
  const words = options.args ?? [];
  const command = (program === GMN ? gmnCommand(words) : [process.execPath, program, ...words]).flat();
  const run = `${command.map((word) => `"${word}"`).join(' ')}; code=$?; ${back}`;
  const script = `${options.hasJobs ? 'set -m;' : ''} ${look}; ${run} ${look}; exit $code`;
  const [file = '', ...args] = options.isAlone ? command : ['/bin/bash', '-c', script];
  const screen = testScreen({ columns, rows });
  const env = {
    ...{ PATH: process.env.PATH ?? '', TMPDIR: directory },
    ...{ VISUAL: `sh ${join(directory, 'editor.sh')}`, ...options.env },
  };
  const pty = startOnPty(t, [file, args], { cwd: directory, env, columns, rows, onData: screen.write });
  let seen = 0;
  const until = (isSo: () => boolean): Promise<void> =>
    pty.waitUntil(isSo, () => `this:\n${screen.rows.join('\n')}\n${JSON.stringify(pty.output())}`);
  return {
    ...{ directory, screen, until, type: pty.type, hangUp: pty.hangUp },
    ended: pty.ended.then(({ exitCode }) => exitCode),
    get output() {
      return pty.output();
    },
    shows: (...expected) => until(() => isShown(screen, expected)),
    async said() {
      const next = (): RegExpMatchArray | null =>
        pty
          .output()
          .slice(seen)
          .match(/SAID (.*)\r?\n/);
      await until(() => next() !== null);
      const [line = '', value = ''] = next() ?? [];
      seen = pty.output().indexOf(line, seen) + line.length;
      return JSON.parse(value);
    },
    resize(width, height) {
      screen.resize(width);
      pty.resize(width, height);
    },
    signal: (name) => process.kill(Number(readFileSync(join(directory, 'pid'), 'utf8')), name),
  };
}

function isShown({ rows, cursor }: TestScreen, expected: readonly string[]): boolean {
  const marked = expected.findIndex((row) => row.includes('|'));
  const plain = expected.map((row) => row.replace('|', '').trimEnd());
  const start = cursor.row - marked;
  const shown = plain.map((_, index) => rows[start + index] ?? '');
  const isSame = plain.every((row, index) => row === shown[index]) && rows.length <= start + plain.length;
  return isSame && cursor.column === columnOf(expected[marked] ?? '');
}

/** In these tests, all characters beyond U+2E80 are wide. */
function columnOf(row: string): number {
  return [...row.slice(0, row.indexOf('|'))].reduce(
    (sum, char) => sum + ((char.codePointAt(0) ?? 0) >= 0x2e80 ? 2 : 1),
    0,
  );
}
