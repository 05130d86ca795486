import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Env } from '../../core/io.ts';
import { quoteForShell } from '../../core/text/quote.ts';
import { helperEnvironment } from './environment.ts';
import { findHelper } from './program-path.ts';
import { resolveCommand, windowsProgram } from './windows-command.ts';

interface EditOptions {
  readonly text: string;
  /** The file name the editor sees, from which it may tell the language. */
  readonly name: string;
  /** `VISUAL`, else `EDITOR`, names the editor, arguments allowed. Little of it is passed on: `helperEnvironment`. */
  readonly env: Env;
  readonly terminal: string;
}

/** A final newline that the editor added is removed. Undefined if the editor failed. Throws the signal's reason. */
export async function editInEditor(
  { text, name, env, terminal }: EditOptions,
  signal: AbortSignal,
): Promise<string | undefined> {
  const editor = env.VISUAL || env.EDITOR || (process.platform === 'win32' ? windowsProgram('notepad', env) : 'vi');
  return withFile({ text, name }, signal, async (file) => {
    if ((await runProgram({ program: editor, file, env, terminal }, signal)) !== 0) return undefined;
    const edited = await readFile(file, 'utf8');
    return text.endsWith('\n') ? edited : edited.replace(/\r?\n$/, '');
  });
}

interface PagerOptions {
  readonly text: string;
  readonly pager: string;
  readonly env: Env;
  readonly terminal: string;
}

/** Shows a colon, as for a pipe, instead of the name of our temporary file. */
const LESS_PROMPT = '-Ps?e(END):\\:.$';

export async function showInPager({ text, pager, env, terminal }: PagerOptions, signal: AbortSignal): Promise<boolean> {
  const colored = { ...env, LESS: env.LESS ?? `-R ${LESS_PROMPT}`, LV: env.LV ?? '-c' };
  return withFile({ text, name: 'all.txt' }, signal, async (file) => {
    return (await runProgram({ program: pager, file, env: colored, terminal }, signal)) === 0;
  });
}

async function withFile<T>(
  { text, name }: Pick<EditOptions, 'text' | 'name'>,
  signal: AbortSignal,
  work: (file: string) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const directory = await mkdtemp(join(tmpdir(), 'gmn-edit-'));
  const file = join(
    directory,
    name
      .replaceAll(/[^\w.-]/g, '_')
      .replace(/^[.-]+/, '')
      .slice(-60) || 'text',
  );
  try {
    await writeFile(file, text, { mode: 0o600 });
    // Aborted while the file was being written.
    signal.throwIfAborted();
    return await work(file);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

interface RunOptions extends Pick<EditOptions, 'env' | 'terminal'> {
  readonly program: string;
  readonly file: string;
}

function runProgram({ program, file, env, terminal }: RunOptions, signal: AbortSignal): Promise<number | null> {
  const roots = [process.cwd()];
  const given = helperEnvironment(env, roots);
  const words = process.platform === 'win32' ? splitWindowsLine(program, env, roots) : toShellLine(program, env, roots);
  if (words === undefined) return Promise.resolve(null);
  const [command, ...args] = words;
  const start = resolveCommand({ command, args: [...args, file], cwd: process.cwd(), env: given });
  const descriptor = openSync(terminal, 'r+');
  return new Promise<number | null>((resolve, reject) => {
    const child = spawn(start.command, start.args, {
      stdio: process.platform === 'win32' ? 'inherit' : [descriptor, descriptor, descriptor],
      env: given,
      windowsVerbatimArguments: start.isVerbatim,
      signal,
    });
    child.once('error', () => (signal.aborted ? reject(signal.reason) : resolve(null)));
    child.once('close', resolve);
  }).finally(() => closeSync(descriptor));
}

type Words = readonly [program: string, ...args: string[]];

/**
 * A shell reads `VISUAL` and `PAGER`, as for git: people write quotes, variables and pipes there. A plain name is looked up
 * here; for all others the shell has only the PATH of `helperEnvironment`. Undefined if there is no such program.
 */
function toShellLine(line: string, env: Env, roots: readonly string[]): Words | undefined {
  const [name = ''] = /^[\w./+-]+(?= |$)/.exec(line) ?? [];
  const found = name === '' ? '' : findHelper(name, env, roots);
  if (found === undefined) return undefined;
  const command = name === '' ? line : `${quoteForShell(found)}${line.slice(name.length)}`;
  return ['/bin/sh', '-c', `${command} "$1"`, line];
}

/** Words, some of them in quotes; `resolveCommand` runs a batch file such as `code.cmd`. Undefined as above. */
function splitWindowsLine(line: string, env: Env, roots: readonly string[]): Words | undefined {
  // A path with spaces that is not quoted.
  const whole = findHelper(line, env, roots);
  if (whole !== undefined) return [whole];
  const [name = '', ...args] = [...line.matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word);
  const found = findHelper(name, env, roots);
  return found === undefined ? undefined : [found, ...args];
}
