import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Env } from '../../core/io.ts';
import { FROM_PATH_ONLY, windowsProgram } from './windows-command.ts';

interface Editing {
  readonly text: string;
  /** The name of the file the editor gets, from which it may tell the language. */
  readonly name: string;
  /** `VISUAL`, else `EDITOR`, names the editor, with arguments if it has any; the editor gets all of it. */
  readonly env: Env;
  /** The path of the terminal to edit on. */
  readonly terminal: string;
}

/**
 * What the person makes of a text in their editor. A line break at the end is the editor's, not theirs, if the text had
 * none. Undefined if the editor could not be started or says that it failed. Throws the signal's reason.
 */
export async function editedText(
  { text, name, env, terminal }: Editing,
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

interface Paging {
  readonly text: string;
  /** The command of the pager, with arguments if it has any. */
  readonly pager: string;
  /** The pager gets all of it. */
  readonly env: Env;
  /** The path of the terminal to show it on. */
  readonly terminal: string;
}

/** A colon, as for text from a pipe: the path of our file tells nobody anything. */
const LESS_PROMPT = '-Ps?e(END):\\:.$';

/** Shows a text in a pager until the person leaves it; false if that failed. Throws the signal's reason. */
export async function pagedText({ text, pager, env, terminal }: Paging, signal: AbortSignal): Promise<boolean> {
  // As git does it: colours are shown.
  const colored = { ...env, LESS: env.LESS ?? `-R ${LESS_PROMPT}`, LV: env.LV ?? '-c' };
  return withFile({ text, name: 'all.txt' }, signal, async (file) => {
    return (await runProgram({ program: pager, file, env: colored, terminal }, signal)) === 0;
  });
}

/** Hands a text to some work in a file that only this user can read, and that is gone afterwards. */
async function withFile<T>(
  { text, name }: Pick<Editing, 'text' | 'name'>,
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
    // While the file was being made.
    signal.throwIfAborted();
    return await work(file);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

interface Running extends Pick<Editing, 'env' | 'terminal'> {
  readonly program: string;
  readonly file: string;
}

/** What ends the script if there is no such program: the words of a shell about that help nobody. */
function existing(program: string): string {
  const [name] = /^[\w./+-]+(?= |$)/.exec(program) ?? [];
  return name === undefined ? '' : `command -v ${name} > /dev/null 2>&1 || exit 127; `;
}

function runProgram({ program, file, env, terminal }: Running, signal: AbortSignal): Promise<number | null> {
  const isWindows = process.platform === 'win32';
  const descriptor = openSync(terminal, 'r+');
  return new Promise<number | null>((resolve, reject) => {
    const stdio = [descriptor, descriptor, descriptor];
    const child = isWindows
      ? spawn(`${program} "${file}"`, { stdio: 'inherit', env: { ...env, ...FROM_PATH_ONLY }, shell: true })
      : spawn('/bin/sh', ['-c', `${existing(program)}${program} "$1"`, program, file], { stdio, env });
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
