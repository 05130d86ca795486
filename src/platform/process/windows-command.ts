import { win32 } from 'node:path';
import type { Env } from '../../core/io.ts';

/** Where Windows has its own programs, below %SystemRoot%. */
const PROGRAMS = {
  clip: 'System32\\clip.exe',
  cmd: 'System32\\cmd.exe',
  notepad: 'System32\\notepad.exe',
  powershell: 'System32\\WindowsPowerShell\\v1.0\\powershell.exe',
  rundll32: 'System32\\rundll32.exe',
  taskkill: 'System32\\taskkill.exe',
} as const;

/**
 * The full path of a program of Windows itself. By its bare name it would be looked for in the current directory first, and
 * whoever made the folder could have put one there.
 */
export function windowsProgram(name: keyof typeof PROGRAMS, env: Env): string {
  const root = variable(env, 'SystemRoot') ?? variable(env, 'windir');
  return win32.join(root !== undefined && win32.isAbsolute(root) ? root : 'C:\\Windows', PROGRAMS[name]);
}

/** Makes the command interpreter look for the programs of a person's command in PATH, and not in the current directory first. */
export const FROM_PATH_ONLY = { NoDefaultCurrentDirectoryInExePath: '1' };

/** What is started on Windows in the place of a command. */
export interface WindowsCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** The arguments are a command line already, and must not be quoted once more. */
  readonly isVerbatim: boolean;
}

interface Surroundings {
  /** Of the program. Names count in any case of letters, as on Windows. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly isFile: (path: string) => boolean;
}

const ENDINGS = '.COM;.EXE;.BAT;.CMD';

/**
 * The program that a command means on Windows, where `npx` is a batch file, `npx.cmd`, which only the command interpreter can run.
 * Each argument reaches the batch file as one: nothing in it is obeyed. What is not found stays as it was. Line breaks are not for here.
 */
export function windowsCommand(command: string, args: readonly string[], around: Surroundings): WindowsCommand {
  const file = programFile(command, around);
  if (file === undefined) return { command, args, isVerbatim: false };
  if (!/\.(?:bat|cmd)$/i.test(file)) return { command: file, args, isVerbatim: false };
  const line = [file, ...args].map(quoteForBatch).join(' ');
  // Extensions on, since `quoted` uses them; no `!variables!`; no start-up script; all that follows is the command.
  return {
    command: variable(around.env, 'ComSpec') ?? windowsProgram('cmd', around.env),
    args: ['/e:ON', '/v:OFF', '/d', '/s', '/c', `"${line}"`],
    isVerbatim: true,
  };
}

function programFile(command: string, { env, cwd, isFile }: Surroundings): string | undefined {
  const endings = (variable(env, 'PATHEXT') ?? ENDINGS).split(';').filter((ending) => ending !== '');
  const isPath = /[\\/:]/.test(command);
  const directories = isPath ? [cwd] : (variable(env, 'PATH') ?? '').split(';').filter((directory) => directory !== '');
  const hasEnding = endings.some((ending) => command.toLowerCase().endsWith(ending.toLowerCase()));
  return directories
    .map((directory) => win32.resolve(cwd, directory, command))
    .flatMap((path) => [...(hasEnding ? [path] : []), ...endings.map((ending) => `${path}${ending.toLowerCase()}`)])
    .find(isFile);
}

/**
 * One argument for a batch file. Inside quotes only `"` and `%` mean something: a doubled quote stays a quote for the interpreter
 * and for the program behind it, and a `%` before an expansion to nothing begins no variable.
 */
function quoteForBatch(argument: string): string {
  const inside = argument
    .replace(/(?<!\\)(\\*)"/g, '$1$1""')
    .replace(/(?<!\\)(\\+)$/, '$1$1')
    .replaceAll('%', '%%cd:~,%');
  return `"${inside}"`;
}

function variable(env: Env, name: string): string | undefined {
  const key = Object.keys(env).find((each) => each.toLowerCase() === name.toLowerCase());
  return key === undefined ? undefined : env[key];
}
