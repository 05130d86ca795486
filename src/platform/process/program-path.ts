import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import type { Env } from '../../core/io.ts';
import { contains } from '../../core/text/path.ts';
import { findUserHome } from '../runtime/system.ts';
import { findVariable, hasDrive, listWindowsFiles } from './windows-command.ts';

/** Where the system has its programs; used if PATH names no directory that may be searched. */
export const SYSTEM_DIRECTORIES: readonly string[] =
  process.platform === 'win32' ? [] : ['/usr/local/bin', '/usr/bin', '/bin'];

/**
 * The file of a program that gmn starts for its own purposes: a clipboard, an editor, a browser, ripgrep. A name is
 * looked up in the directories of `listHelperDirectories`, and what leads into `roots` from there is skipped; an
 * absolute path is the user's choice. A path that depends on the current directory is never found. Never throws.
 */
export function findHelper(name: string, env: Env, roots: readonly string[]): string | undefined {
  if (isAbsolute(name)) return findFirstProgram([name], env);
  if (hasSeparator(name)) return undefined;
  const workspaces = listWorkspaces(env, roots);
  return listHelperDirectories(env, roots)
    .map((directory) => findFirstProgram([join(directory, name)], env))
    .find((file) => file !== undefined && !isInWorkspace(file, workspaces));
}

/** PATH without `roots`: no project may replace a program. Never empty on POSIX, where that means the cwd. */
export function listHelperDirectories(env: Env, roots: readonly string[]): readonly string[] {
  const workspaces = listWorkspaces(env, roots);
  const found = listAbsoluteDirectories(env).filter((directory) => !isInWorkspace(directory, workspaces));
  return found.length === 0 ? SYSTEM_DIRECTORIES : found;
}

/** Without entries that mean another directory wherever gmn is started: empty and relative ones. */
export function listAbsoluteDirectories(env: Env): readonly string[] {
  if (process.platform === 'win32') return (findVariable(env, 'PATH') ?? '').split(';').filter(hasDrive);
  return (env.PATH ?? '').split(delimiter).filter((directory) => isAbsolute(directory));
}

/** A folder that holds the user's home is no project: what is on PATH in there is the user's own. */
function listWorkspaces(env: Env, roots: readonly string[]): readonly string[] {
  const home = followLinks(env.HOME || findUserHome());
  return roots.filter((root) => !contains(followLinks(root), home)).flatMap((root) => [root, followLinks(root)]);
}

function isInWorkspace(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => contains(folder, path) || contains(folder, followLinks(path)));
}

function followLinks(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}

export function findProgram(command: string, env: Env, cwd: string): string | undefined {
  if (hasSeparator(command)) return findFirstProgram([resolve(cwd, command)], env);
  return findFirstProgram(
    listAbsoluteDirectories(env).map((directory) => join(directory, command)),
    env,
  );
}

function hasSeparator(command: string): boolean {
  return process.platform === 'win32' ? /[\\/:]/.test(command) : command.includes('/');
}

function findFirstProgram(places: readonly string[], env: Env): string | undefined {
  const toNames = (place: string): readonly string[] =>
    process.platform === 'win32' ? listWindowsFiles(place, env) : [place];
  return places.flatMap(toNames).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
