import { statSync } from 'node:fs';
import { win32 } from 'node:path';
import type { Env } from '../../core/io.ts';

const PROGRAMS = {
  chcp: 'System32\\chcp.com',
  clip: 'System32\\clip.exe',
  cmd: 'System32\\cmd.exe',
  notepad: 'System32\\notepad.exe',
  powershell: 'System32\\WindowsPowerShell\\v1.0\\powershell.exe',
  rundll32: 'System32\\rundll32.exe',
  taskkill: 'System32\\taskkill.exe',
  wmic: 'System32\\wbem\\wmic.exe',
} as const;

/** A bare name would be looked up in the current directory first, where a project could have put another program. */
export function windowsProgram(name: keyof typeof PROGRAMS, env: Env): string {
  const root = findVariable(env, 'SystemRoot') ?? findVariable(env, 'windir');
  return win32.join(root !== undefined && hasDrive(root) ? root : 'C:\\Windows', PROGRAMS[name]);
}

export function findCommandInterpreter(env: Env): string {
  const named = findVariable(env, 'ComSpec') ?? '';
  return hasDrive(named) ? named : windowsProgram('cmd', env);
}

/** The same place wherever gmn is started; for Node `\\tools`, on the current drive, is absolute as well. */
export function hasDrive(path: string): boolean {
  return /^(?:[a-z]:[\\/]|[\\/]{2})/i.test(path);
}

/**
 * For every child: cmd.exe, and each program that looks for another one, search PATH and not the current directory first, where a project
 * may have put a `git.bat`.
 */
export const FROM_PATH_ONLY = { NoDefaultCurrentDirectoryInExePath: '1' };

export interface WindowsCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly isVerbatim: boolean;
}

interface WindowsContext {
  /** The program's environment. Names are case-insensitive, as on Windows. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly isFile: (path: string) => boolean;
}

const ENDINGS = '.COM;.EXE;.BAT;.CMD';

interface CommandStart extends Omit<WindowsContext, 'isFile'> {
  readonly command: string;
  readonly args: readonly string[];
}

/** What to start for a command without a shell; only on Windows that is something else than the command itself. */
export function resolveCommand({ command, args, cwd, env }: CommandStart): WindowsCommand {
  if (process.platform !== 'win32') return { command, args, isVerbatim: false };
  return windowsCommand(command, args, { env, cwd, isFile: isExistingFile });
}

function isExistingFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
  } catch {
    // A directory that may not be entered hides none of the others.
    return false;
  }
}

/**
 * Resolves a command on Windows, where `npx` is a batch file, `npx.cmd`, that only cmd.exe can run. Each argument
 * reaches the batch file as one word, and nothing in it is interpreted. Throws ENOENT for a command that is not found:
 * Windows would look for it in the current directory. Arguments must not contain line breaks.
 */
export function windowsCommand(command: string, args: readonly string[], context: WindowsContext): WindowsCommand {
  const file = findProgramFile(command, context);
  if (file === undefined) throw Object.assign(new Error(`there is no program ${command}`), { code: 'ENOENT' });
  if (!/\.(?:bat|cmd)$/i.test(file)) return { command: file, args, isVerbatim: false };
  const line = [file, ...args].map(quoteForBatch).join(' ');
  // /e: extensions, which `quoteForBatch` needs; /v: no `!variables!`; /d: no AutoRun; /s /c: the rest is the command.
  return {
    command: findCommandInterpreter(context.env),
    args: ['/e:ON', '/v:OFF', '/d', '/s', '/c', `"${line}"`],
    isVerbatim: true,
  };
}

function findProgramFile(command: string, { env, cwd, isFile }: WindowsContext): string | undefined {
  const isPath = /[\\/:]/.test(command);
  const directories = isPath ? [cwd] : (findVariable(env, 'PATH') ?? '').split(';').filter(hasDrive);
  return directories
    .map((directory) => win32.resolve(cwd, directory, command))
    .flatMap((path) => listWindowsFiles(path, env))
    .find(isFile);
}

/** The files that a command may mean on Windows: its name alone only if that has an ending of a program. */
export function listWindowsFiles(path: string, env: Env): readonly string[] {
  const endings = (findVariable(env, 'PATHEXT') ?? ENDINGS).split(';').filter((ending) => ending !== '');
  const hasEnding = endings.some((ending) => path.toLowerCase().endsWith(ending.toLowerCase()));
  return [...(hasEnding ? [path] : []), ...endings.map((ending) => `${path}${ending.toLowerCase()}`)];
}

/**
 * Quotes an argument for a batch file. Inside quotes only `"` and `%` are special: a doubled quote is a quote for
 * cmd.exe and for the program, and an expansion to nothing after a `%` keeps it from starting a variable.
 */
function quoteForBatch(argument: string): string {
  const inside = argument
    .replace(/(?<!\\)(\\*)"/g, '$1$1""')
    .replace(/(?<!\\)(\\+)$/, '$1$1')
    .replaceAll('%', '%%cd:~,%');
  return `"${inside}"`;
}

/** Names of variables are case-insensitive on Windows: `Path`. */
export function findVariable(env: Env, name: string): string | undefined {
  const key = Object.keys(env).find((each) => each.toLowerCase() === name.toLowerCase());
  return key === undefined ? undefined : env[key];
}
