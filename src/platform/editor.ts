import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Env } from '../core/io.ts';

export interface Editing {
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
    if ((await runEditor(file, env, terminal, signal)) !== 0) return undefined;
    const edited = await readFile(file, 'utf8');
    return text.endsWith('\n') ? edited : edited.replace(/\r?\n$/, '');
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function runEditor(file: string, env: Env, terminal: string, signal: AbortSignal): Promise<number | null> {
  const isWindows = process.platform === 'win32';
  const editor = env.VISUAL || env.EDITOR || (isWindows ? 'notepad' : 'vi');
  const descriptor = openSync(terminal, 'r+');
  return new Promise<number | null>((resolve, reject) => {
    const stdio = [descriptor, descriptor, descriptor];
    const child = isWindows
      ? spawn(`${editor} "${file}"`, { stdio: 'inherit', env, shell: true })
      : spawn('/bin/sh', ['-c', `${editor} "$1"`, editor, file], { stdio, env });
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
