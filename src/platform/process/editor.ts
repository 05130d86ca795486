import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Env } from '../../core/io.ts';
import { FROM_PATH_ONLY, windowsProgram } from './windows-command.ts';

interface EditOptions {
  readonly text: string;
  /** The file name the editor sees, from which it may tell the language. */
  readonly name: string;
  /** `VISUAL`, else `EDITOR`, names the editor, arguments allowed. Passed on completely. */
  readonly env: Env;
  readonly terminal: string;
}

/**
 * Lets the user edit a text. If the text had no final newline, one added by the editor is removed. Undefined if the
 * editor could not be started or failed. Throws the signal's reason.
 */
export async function editInEditor(
  { text, name, env, terminal }: EditOptions,
  signal: AbortSignal,
): Promise<string | undefined> {
  const editor =
    env.VISUAL || env.EDITOR || (process.platform === 'win32' ? `"${windowsProgram('notepad', env)}"` : 'vi');
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

/** Shows a text in a pager until the user quits it; false if that failed. Throws the signal's reason. */
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

/** Makes a missing program give exit code 127 without the shell's own message. */
function formatExistenceCheck(program: string): string {
  const [name] = /^[\w./+-]+(?= |$)/.exec(program) ?? [];
  return name === undefined ? '' : `command -v ${name} > /dev/null 2>&1 || exit 127; `;
}

function runProgram({ program, file, env, terminal }: RunOptions, signal: AbortSignal): Promise<number | null> {
  const isWindows = process.platform === 'win32';
  const descriptor = openSync(terminal, 'r+');
  return new Promise<number | null>((resolve, reject) => {
    const stdio = [descriptor, descriptor, descriptor];
    const child = isWindows
      ? spawn(`${program} "${file}"`, { stdio: 'inherit', env: { ...env, ...FROM_PATH_ONLY }, shell: true })
      : spawn('/bin/sh', ['-c', `${formatExistenceCheck(program)}${program} "$1"`, program, file], { stdio, env });
    const stop = (): void => {
      child.kill();
      reject(signal.reason);
    };
    signal.addEventListener('abort', stop, { once: true });
    child.once('error', () => resolve(null));
    child.once('close', (code) => {
      signal.removeEventListener('abort', stop);
      resolve(code);
    });
  }).finally(() => closeSync(descriptor));
}
