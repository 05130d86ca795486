import { resolve } from 'node:path';
import { AppError } from '../core/error.ts';
import { visible } from '../core/text/terminal.ts';
import { lookUp } from '../platform/files/read.ts';

/** Throws AppError `usage` if a path that is to be attached names nothing; a pattern is looked at when it is used. */
export async function checkFile(path: string, cwd: string): Promise<void> {
  if (/[*?[{]/.test(path) || (await lookUp(resolve(cwd, path), path)) !== undefined) return;
  throw new AppError('usage', `no such file: ${visible(path)}`, { hint: `Paths start at ${visible(cwd)}.` });
}

/** The paths of which `isFine` says that they can be sent; none if each can, but not all together. */
export async function fineFiles(
  paths: readonly string[],
  isFine: (paths: readonly string[]) => Promise<boolean>,
): Promise<readonly string[]> {
  if (await isFine(paths)) return paths;
  const fine: string[] = [];
  for (const path of paths) if (await isFine([path])) fine.push(path);
  return fine.length === paths.length ? [] : fine;
}
