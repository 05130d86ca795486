import { spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { AppError } from '../../core/error.ts';
import type { Env } from '../../core/io.ts';
import { errorReason } from '../runtime/system.ts';
import type { Shell } from './shell-choice.ts';
import { FROM_PATH_ONLY, windowsProgram } from './windows-command.ts';

interface CommandWithInput {
  readonly shell: Shell;
  readonly command: string;
  readonly input: string;
  readonly cwd: string;
  /** Passed on completely: it is the user's own command. */
  readonly env: Env;
}

/**
 * Runs a command of the user with a text as its stdin; its output goes to our stderr, so that stdout stays ours.
 * Resolves with the exit code, 1 if a signal ended it. Throws the signal's reason, and AppError `usage` if it cannot be
 * started.
 */
export function feedCommand(
  { shell, command, input, cwd, env }: CommandWithInput,
  signal: AbortSignal,
): Promise<number> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const child = spawn(shell.path, [...shell.args, shell.isVerbatim ? `"${command}"` : command], {
      cwd,
      env: process.platform === 'win32' ? { ...env, ...FROM_PATH_ONLY } : env,
      stdio: ['pipe', 2, 2],
      windowsHide: true,
      windowsVerbatimArguments: shell.isVerbatim,
    });
    const stop = (): void => void child.kill();
    signal.addEventListener('abort', stop, { once: true });
    child.once('error', (cause) =>
      reject(
        new AppError('usage', `cannot start ${shell.path}: ${errorReason(cause)}`, {
          cause,
          hint: 'Check --shell, and the command.',
        }),
      ),
    );
    child.once('close', (code) => {
      signal.removeEventListener('abort', stop);
      if (signal.aborted) reject(signal.reason);
      else resolve(code ?? 1);
    });
    // It may exit without reading.
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
  });
}

/**
 * Opens a page in the user's browser: the program in `BROWSER`, else the system's. False if none can be started, or
 * `NO_BROWSER` is set. No shell sees the URL; pass only https or loopback URLs.
 */
export function openBrowser(url: string, env: Env, platform: string = process.platform): Promise<boolean> {
  if (env.NO_BROWSER) return Promise.resolve(false);
  const [command, ...args] = env.BROWSER ? [env.BROWSER] : systemBrowser(platform, env);
  return new Promise((resolve) => {
    try {
      const child = spawn(command ?? '', [...args, url], { stdio: 'ignore', detached: true, env });
      child.once('error', () => resolve(false));
      child.once('spawn', () => {
        child.unref();
        resolve(true);
      });
    } catch {
      resolve(false);
    }
  });
}

function systemBrowser(platform: string, env: Env): readonly string[] {
  if (platform === 'darwin') return ['open'];
  return platform === 'win32' ? [windowsProgram('rundll32', env), 'url.dll,FileProtocolHandler'] : ['xdg-open'];
}

/** The file that would run for a command; undefined if there is none. Never throws. */
export function findProgram(command: string, env: Env, cwd: string): string | undefined {
  const isPath = isAbsolute(command) || /[\\/]/.test(command);
  const directories = (env.PATH ?? env.Path ?? '').split(delimiter).filter((directory) => directory !== '');
  const places = isPath
    ? [resolve(cwd, command)]
    : directories.map((directory) => join(resolve(cwd, directory), command));
  return places.flatMap((place) => listExtensions(env).map((ending) => `${place}${ending}`)).find(isProgram);
}

function listExtensions(env: Env): readonly string[] {
  if (process.platform !== 'win32') return [''];
  return ['', ...(env.PATHEXT ?? '.COM;.EXE;.BAT;.CMD').split(';').map((ending) => ending.toLowerCase())];
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
