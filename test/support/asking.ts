import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { TestContext } from 'vitest';
import type { Script } from './approval-program.ts';
import { startOnPty, statesIn } from './pty.ts';

export interface Asking {
  type(keys: string): void;
  /** Waits for the text in the output since the last call, and resolves with that output; rejects if the program ends first. */
  until(text: string): Promise<string>;
  readonly ended: Promise<{ readonly exitCode: number; readonly output: string }>;
  /** Sends one after the other. A busy machine may give the program the time to end after the first. */
  signal(...names: readonly NodeJS.Signals[]): void;
  readonly directory: string;
}

/** Bundles a program of this folder into one file. */
export async function bundledProgram(directory: string, name = 'approval-program'): Promise<string> {
  const outfile = join(directory, `${name}.mjs`);
  await build({
    entryPoints: [fileURLToPath(new URL(`${name}.ts`, import.meta.url))],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
  });
  return outfile;
}

export interface AskingOptions {
  readonly columns?: number;
  readonly rows?: number;
  /** A shell script that edits the file `$1`. */
  readonly editor?: string;
  /** Runs before the program, in the same shell. */
  readonly before?: string;
  /** After the program's name, e.g. a redirection. */
  readonly after?: string;
  readonly wrapper?: string;
  /** Under a shell with job control, which resumes the program as soon as it stops. */
  readonly hasJobs?: boolean;
}

/** Runs the program on a pseudo-terminal, and prints the state of that terminal before and after. */
export function asking(t: TestContext, program: string, script: Script, options: AskingOptions = {}): Asking {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'gmn-asking-')));
  t.onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  writeFileSync(join(directory, 'editor.sh'), options.editor ?? 'exit 1');
  const look = 'echo "STATE $(stty -g)"';
  const run = `${options.wrapper ?? ''} "${process.execPath}" "${program}" ${options.after ?? ''}`;
  const back = options.hasJobs ? `${look}; fg > /dev/null;` : '';
  const lines = `${options.hasJobs ? 'set -m;' : ''} ${options.before ?? ':'}; ${look}; ${run}; code=$?; ${back} ${look}; read -r -s -t 10; exit $code`;
  const env = {
    PATH: process.env.PATH ?? '',
    TMPDIR: directory,
    SCRIPT: JSON.stringify(script),
    VISUAL: `sh ${join(directory, 'editor.sh')}`,
  };
  const { columns, rows } = options;
  // The shell ends when its last line has arrived: of a terminal that is gone, the rest may be lost on a busy machine.
  const states = options.hasJobs ? 3 : 2;
  const onData = (): void => {
    if (statesIn(pty.output()).length === states) pty.type('\n');
  };
  const pty = startOnPty(t, ['/bin/bash', ['-c', lines]], { cwd: directory, env, columns, rows, onData });
  let seen = 0;
  return {
    directory,
    ended: pty.ended,
    type: pty.type,
    signal(...names) {
      const pid = Number(readFileSync(join(directory, 'pid'), 'utf8'));
      for (const [index, name] of names.entries()) {
        try {
          process.kill(pid, name);
        } catch (thrown) {
          if (index === 0) throw thrown;
        }
      }
    },
    async until(text) {
      const find = (): number => pty.output().indexOf(text, seen);
      await pty.waitUntil(
        () => find() >= 0,
        () => `"${text}":\n${pty.output()}`,
      );
      const since = pty.output().slice(seen, find() + text.length);
      seen += since.length;
      return since.replaceAll('\r\n', '\n');
    },
  };
}

export function verdictsIn(output: string): readonly unknown[] {
  return [...output.matchAll(/^VERDICT (.*?)\r?$/gm)].map(([, text = '']) => JSON.parse(text));
}
