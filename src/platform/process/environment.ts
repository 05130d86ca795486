import { delimiter } from 'node:path';
import type { Env } from '../../core/io.ts';
import { listAbsoluteDirectories, listHelperDirectories, SYSTEM_DIRECTORIES } from './program-path.ts';
import type { Shell } from './shell-choice.ts';
import { FROM_PATH_ONLY, findVariable } from './windows-command.ts';

/** The variable that marks the processes of a command; nested runs append theirs. */
export const MARKER = 'GMN_COMMAND';

/** What every child gets, beside a PATH. `GMN_MCP_DEPTH` counts nested MCP servers, which any of them may start. */
const PASSED = ['HOME', 'USER', 'LOGNAME', 'LANG', 'TZ', 'TMPDIR', 'GMN_MCP_DEPTH'];

const PASSED_TO_PROGRAMS = [...PASSED, 'SHELL', 'TERM'];

/** Each is something that a helper cannot work without, or would work wrongly; none of them holds a secret. */
const PASSED_TO_HELPERS = [
  ...PASSED_TO_PROGRAMS,
  // The display, for clipboards, browsers and editors with windows; the bus, for the keyring and `xdg-open`.
  ...['DISPLAY', 'WAYLAND_DISPLAY', 'XAUTHORITY', 'XDG_RUNTIME_DIR', 'DBUS_SESSION_BUS_ADDRESS'],
  // Which desktop opens a page, and with what.
  ...['XDG_CURRENT_DESKTOP', 'XDG_SESSION_TYPE', 'DESKTOP_SESSION', 'KDE_FULL_SESSION', 'KDE_SESSION_VERSION'],
  ...['XDG_DATA_DIRS', 'XDG_DATA_HOME', 'XDG_CONFIG_DIRS', 'XDG_CONFIG_HOME', 'XDG_STATE_HOME', 'XDG_CACHE_HOME'],
  // The terminal, as editors and pagers see it.
  ...['COLORTERM', 'TERMINFO', 'TERMINFO_DIRS', 'TMUX', 'STY', 'SSH_TTY', 'SSH_CONNECTION'],
  ...['LESS', 'LESSCHARSET', 'LV'],
  // How to reach an editor that runs already, and the Windows around a Linux.
  ...['VSCODE_IPC_HOOK_CLI', 'EMACS_SOCKET_NAME', 'NVIM', 'WSL_INTEROP', 'WSL_DISTRO_NAME'],
];

/** Without these, programs on Windows do not even start, or do not find their own files. */
const PASSED_ON_WINDOWS = [
  ...['SystemRoot', 'SystemDrive', 'windir', 'ComSpec', 'PATHEXT', 'Path', 'TEMP', 'TMP', 'USERNAME', 'USERPROFILE'],
  ...['HOMEDRIVE', 'HOMEPATH', 'APPDATA', 'LOCALAPPDATA', 'ProgramData', 'ProgramFiles', 'ProgramFiles(x86)'],
  ...['ProgramW6432', 'CommonProgramFiles', 'CommonProgramFiles(x86)', 'ALLUSERSPROFILE', 'PUBLIC'],
  // Makefiles ask for it.
  ...['OS', 'NUMBER_OF_PROCESSORS', 'PROCESSOR_ARCHITECTURE'],
];

function pickVariables(env: Env, names: readonly string[], platform: string): Record<string, string> {
  const locale = Object.keys(env).filter((name) => /^LC_[A-Z]+$/.test(name));
  const picked: Record<string, string> = {};
  for (const name of [...names, ...locale, ...(platform === 'win32' ? PASSED_ON_WINDOWS : [])]) {
    // A shell of POSIX on Windows writes some of them in capitals: COMSPEC.
    const value = platform === 'win32' ? findVariable(env, name) : env[name];
    // Shellshock: old versions of bash run such a value as a function.
    if (value !== undefined && !value.startsWith('()')) picked[name] = value;
  }
  return platform === 'win32' ? { ...picked, ...FROM_PATH_ONLY } : picked;
}

/**
 * The environment of a command, built from nothing: paths, language, and that there is no terminal. No key or token of
 * the caller gets in, nor any variable that makes a shell or loader run more code.
 */
export function shellEnvironment(env: Env, shell: Shell, platform: string = process.platform): Record<string, string> {
  const variables: Record<string, string> = {
    ...pickVariables(env, ['PATH', ...PASSED, 'LANGUAGE'], platform),
    SHELL: shell.path,
    TERM: 'dumb',
    NO_COLOR: '1',
    PAGER: 'cat',
    GIT_PAGER: 'cat',
    GIT_TERMINAL_PROMPT: '0',
  };
  if (platform !== 'win32') variables.PATH ??= SYSTEM_DIRECTORIES.join(delimiter);
  return variables;
}

/** For a program that the user configured, as an MCP server: harmless variables, and `own`, written for it. */
export function programEnvironment(env: Env, own: Readonly<Record<string, string>>): Record<string, string> {
  const picked = pickVariables(env, PASSED_TO_PROGRAMS, process.platform);
  return mergeVariables({ ...picked, ...toPathVariable(listAbsoluteDirectories(env)) }, own);
}

/** On Windows `PATH` replaces `Path`. */
function mergeVariables(
  variables: Readonly<Record<string, string>>,
  own: Readonly<Record<string, string>>,
): Record<string, string> {
  if (process.platform !== 'win32') return { ...variables, ...own };
  const kept = Object.entries(variables).filter(([name]) => findVariable(own, name) === undefined);
  return { ...Object.fromEntries(kept), ...own };
}

/** For a program that gmn starts for itself: also what it needs of the desktop, and the PATH it was found on. */
export function helperEnvironment(env: Env, roots: readonly string[]): Record<string, string> {
  const picked = pickVariables(env, PASSED_TO_HELPERS, process.platform);
  return { ...picked, ...toPathVariable(listHelperDirectories(env, roots)) };
}

function toPathVariable(directories: readonly string[]): Record<string, string> {
  const path = directories.join(delimiter);
  if (process.platform === 'win32') return { Path: path };
  // An empty one would mean the current directory.
  return path === '' ? {} : { PATH: path };
}
