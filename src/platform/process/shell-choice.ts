import { accessSync, constants } from 'node:fs';
import { posix, resolve } from 'node:path';
import { AppError } from '../../core/error.ts';
import type { Env } from '../../core/io.ts';
import { findShellKind } from '../../core/text/shell-line.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { findHelper } from './program-path.ts';
import { findCommandInterpreter, windowsProgram } from './windows-command.ts';

export interface Shell {
  readonly path: string;
  readonly args: readonly string[];
  /** Windows: the command must not be quoted again. */
  readonly isVerbatim: boolean;
  /** Windows: the command as this shell has to be given it, so that all of its lines run and its output is UTF-8. */
  readonly prepare?: (command: string) => string;
}

export function listShellArguments({ args, isVerbatim, prepare = (text) => text }: Shell, command: string): string[] {
  return [...args, isVerbatim ? `"${prepare(command)}"` : prepare(command)];
}

/**
 * `wanted` (`--shell`), else the user's own if known, else the system's; on Windows that is PowerShell, or cmd.exe where there is none.
 * Throws AppError `usage`.
 */
export function chooseShell(
  wanted: string | undefined,
  env: Env,
  platform: string = process.platform,
  find = (name: string) => findHelper(name, env, [process.cwd()]),
): Shell {
  const chosen = wanted === undefined ? undefined : requireShell(wanted, env);
  if (platform === 'win32')
    return windowsShell(
      chosen ?? find('pwsh') ?? find(windowsProgram('powershell', env)) ?? findCommandInterpreter(env),
      env,
    );
  const own = env.SHELL ?? '';
  const isKnown = posix.isAbsolute(own) && findShellKind(own) === 'posix' && isExecutable(own);
  return { path: chosen ?? (isKnown ? own : '/bin/sh'), args: ['-c'], isVerbatim: false };
}

/** By its name: what another one makes of a command is not known. */
export function isPosixShell({ path, args }: Shell): boolean {
  return findShellKind(path) === 'posix' && args.length === 1 && args[0] === '-c';
}

function requireShell(wanted: string, env: Env): string {
  const cwd = process.cwd();
  const isPath = /[\\/]/.test(wanted);
  const found = findHelper(isPath ? resolve(cwd, wanted) : wanted, env, [cwd]);
  if (found !== undefined) return found;
  throw new AppError('usage', `--shell: ${sanitize(wanted)} is not a program that can be run`, {
    hint: `Name a shell by its full path, for example: --shell ${process.platform === 'win32' ? findCommandInterpreter(env) : '/bin/sh'}`,
  });
}

function windowsShell(path: string, env: Env): Shell {
  const kind = findShellKind(path);
  if (kind === 'batch') {
    const prepare = (command: string): string =>
      `${windowsProgram('chcp', env)} 65001 >nul & ${joinCommandLines(command)}`;
    return { path, args: ['/d', '/s', '/c'], isVerbatim: true, prepare };
  }
  if (kind === 'pwsh') {
    const args = ['-NoLogo', '-NoProfile', '-NonInteractive', '-Command'];
    return { path, args, isVerbatim: false, prepare: preparePowerShell };
  }
  return { path, args: ['-c'], isVerbatim: false };
}

/**
 * cmd.exe reads one line only. In a batch file the lines would run one after the other, as after `&`. A remark would reach to the end of
 * the line, and a space before `&` would become part of a variable.
 */
function joinCommandLines(command: string): string {
  return command
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/^@?(?:rem(?=\s|$)|::)/i.test(line))
    .reduce((joined, line) => {
      if (joined.endsWith('^')) return joined.slice(0, -1) + line;
      const isOpen = joined === '' || /[(&|]$/.test(joined) || line.startsWith(')');
      return `${joined}${isOpen ? ' ' : '& '}${line}`;
    }, '')
    .trim();
}

/** Ends with the exit code of a program that failed, which PowerShell itself would make 1. */
function preparePowerShell(command: string): string {
  return [
    '$OutputEncoding = [Console]::OutputEncoding = New-Object Text.UTF8Encoding $false',
    "$ProgressPreference = 'SilentlyContinue'",
    command,
    'if (-not $?) { if ($LASTEXITCODE) { exit $LASTEXITCODE } else { exit 1 } }',
  ].join('\n');
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
