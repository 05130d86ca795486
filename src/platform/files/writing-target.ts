import { lstatSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { contains } from '../../core/text/path.ts';
import { realPath } from './path.ts';

/** Where the system keeps its names for descriptors, which are links to whatever they stand for. */
const SYSTEM_LINKS = /^\/(?:dev|proc)\//;

/**
 * The file that writing to what a person named changes, links followed; a link to nothing is itself replaced. Whoever made
 * a folder could lead to any file of the person's with a link in it, so this throws an Error for a link to a file outside
 * of the directory it is in, and for a directory below the working directory that is a link out of it. Directories
 * elsewhere, and those that lead to the working directory, may be links.
 */
export function writingTarget(name: string, cwd: string): string {
  const path = resolve(cwd, name);
  const target = realPath(path);
  if (SYSTEM_LINKS.test(path)) return target ?? path;
  refuseDirectoryOut(path, cwd);
  if (target === undefined) return path;
  if (!lstatSync(path).isSymbolicLink() || !statSync(target).isFile()) return target;
  const home = realPath(dirname(path)) ?? dirname(path);
  if (contains(home, target)) return target;
  throw new Error(`it is a link to ${target}, outside of its directory; name that file itself, or remove the link`);
}

/** Throws an Error if the path enters the working directory, and leaves it again through a link. */
function refuseDirectoryOut(path: string, cwd: string): void {
  const home = realPath(cwd);
  if (home === undefined) return;
  let isInside = false;
  for (const directory of listParents(path)) {
    const real = realPath(directory);
    // Nothing can be written there; the system says so in its own words.
    if (real === undefined) return;
    if (contains(home, real)) isInside = true;
    else if (isInside) {
      const way = 'name that place itself, or remove the link';
      throw new Error(`${directory} is a link to ${real}, outside of the working directory; ${way}`);
    }
  }
}

/** The directories on the way to a path, from the top. */
function listParents(path: string): readonly string[] {
  const parent = dirname(path);
  return parent === path ? [] : [...listParents(parent), parent];
}
