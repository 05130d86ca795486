import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import type { Env } from '../../core/io.ts';

/** The file that would run for a command, as the system looks for it; undefined if there is none. Never throws. */
export function programPath(command: string, env: Env, cwd: string): string | undefined {
  const isPath = isAbsolute(command) || /[\\/]/.test(command);
  const directories = (env.PATH ?? env.Path ?? '').split(delimiter).filter((directory) => directory !== '');
  const places = isPath
    ? [resolve(cwd, command)]
    : directories.map((directory) => join(resolve(cwd, directory), command));
  return places.flatMap((place) => endings(env).map((ending) => `${place}${ending}`)).find(isProgram);
}

function endings(env: Env): readonly string[] {
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
