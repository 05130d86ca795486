import { accessSync, constants } from 'node:fs';
import { posix, win32 } from 'node:path';
import type { Env } from '../../core/io.ts';
import { windowsProgram } from './windows-command.ts';

export interface Shell {
  readonly path: string;
  readonly args: readonly string[];
  /** Windows: the command must not be quoted again. */
  readonly isVerbatim: boolean;
}

/** Shells that understand what models write; fish does not. */
const POSIX_SHELLS = new Set(['sh', 'bash', 'dash', 'ash', 'zsh', 'ksh', 'mksh']);

/**
 * The shell for commands: `wanted` (`--shell`), else the user's own if known, else the system's. Never throws: a
 * missing one fails when it is started.
 */
export function chooseShell(wanted: string | undefined, env: Env, platform: string = process.platform): Shell {
  if (platform === 'win32') return windowsShell(wanted ?? env.ComSpec ?? windowsProgram('cmd', env));
  const own = env.SHELL ?? '';
  const isKnown = posix.isAbsolute(own) && POSIX_SHELLS.has(posix.basename(own)) && isExecutable(own);
  return { path: wanted ?? (isKnown ? own : '/bin/sh'), args: ['-c'], isVerbatim: false };
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

/** The variable that marks the processes of a command; nested runs append theirs. */
export const MARKER = 'GMN_COMMAND';

/** `GMN_MCP_DEPTH` counts nested MCP servers; a command may start one. */
const PASSED = ['PATH', 'HOME', 'USER', 'LOGNAME', 'LANG', 'LANGUAGE', 'TZ', 'TMPDIR', 'GMN_MCP_DEPTH'];

/** Without these, programs on Windows do not even start. */
const PASSED_ON_WINDOWS = [
  ...['SystemRoot', 'SystemDrive', 'windir', 'ComSpec', 'PATHEXT', 'Path', 'TEMP', 'TMP', 'USERNAME', 'USERPROFILE'],
  ...['HOMEDRIVE', 'HOMEPATH', 'APPDATA', 'LOCALAPPDATA', 'ProgramData', 'ProgramFiles', 'ProgramFiles(x86)'],
  ...['NUMBER_OF_PROCESSORS', 'PROCESSOR_ARCHITECTURE'],
];

export function pickVariables(env: Env, names: readonly string[], platform: string): Record<string, string> {
  const locale = Object.keys(env).filter((name) => /^LC_[A-Z]+$/.test(name));
  const picked: Record<string, string> = {};
  for (const name of [...names, ...locale, ...(platform === 'win32' ? PASSED_ON_WINDOWS : [])]) {
    const value = env[name];
    // Shellshock: old versions of bash run such a value as a function.
    if (value !== undefined && !value.startsWith('()')) picked[name] = value;
  }
  return picked;
}

/**
 * The environment of a command, built from nothing: paths, language, and that there is no terminal. No key or token of
 * the caller gets in, nor any variable that makes a shell or loader run more code.
 */
export function shellEnvironment(env: Env, shell: Shell, platform: string = process.platform): Record<string, string> {
  return {
    ...(platform === 'win32' ? {} : { PATH: '/usr/local/bin:/usr/bin:/bin' }),
    ...pickVariables(env, PASSED, platform),
    SHELL: shell.path,
    TERM: 'dumb',
    NO_COLOR: '1',
    PAGER: 'cat',
    GIT_PAGER: 'cat',
    GIT_TERMINAL_PROMPT: '0',
  };
}
