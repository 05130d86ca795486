import { accessSync, constants } from 'node:fs';
import { posix, resolve, win32 } from 'node:path';
import { AppError } from '../../core/error.ts';
import type { Env } from '../../core/io.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { findHelper } from './program-path.ts';
import { findCommandInterpreter } from './windows-command.ts';

export interface Shell {
  readonly path: string;
  readonly args: readonly string[];
  /** Windows: the command must not be quoted again. */
  readonly isVerbatim: boolean;
}

/** Shells that understand what models write; fish does not. */
const POSIX_SHELLS = new Set(['sh', 'bash', 'dash', 'ash', 'zsh', 'ksh', 'mksh']);

/** `wanted` (`--shell`), else the user's own if known, else the system's. Throws AppError `usage`. */
export function chooseShell(wanted: string | undefined, env: Env, platform: string = process.platform): Shell {
  const chosen = wanted === undefined ? undefined : requireShell(wanted, env);
  if (platform === 'win32') return windowsShell(chosen ?? findCommandInterpreter(env));
  const own = env.SHELL ?? '';
  const isKnown = posix.isAbsolute(own) && POSIX_SHELLS.has(posix.basename(own)) && isExecutable(own);
  return { path: chosen ?? (isKnown ? own : '/bin/sh'), args: ['-c'], isVerbatim: false };
}

function requireShell(wanted: string, env: Env): string {
  const cwd = process.cwd();
  const isPath = /[\\/]/.test(wanted);
  const found = findHelper(isPath ? resolve(cwd, wanted) : wanted, env, [cwd]);
  if (found !== undefined) return found;
  throw new AppError('usage', `--shell: ${sanitize(wanted)} is not a program that can be run`, {
    hint: 'Name a shell by its full path, for example: --shell /bin/sh',
  });
}

function windowsShell(path: string): Shell {
  const name = win32
    .basename(path)
    .toLowerCase()
    .replace(/\.exe$/, '');
  if (name === 'cmd') return { path, args: ['/d', '/s', '/c'], isVerbatim: true };
  if (name === 'powershell' || name === 'pwsh') {
    return { path, args: ['-NoLogo', '-NoProfile', '-NonInteractive', '-Command'], isVerbatim: false };
  }
  return { path, args: ['-c'], isVerbatim: false };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
