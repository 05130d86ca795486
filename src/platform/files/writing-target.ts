import { lstatSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { contains } from '../../core/text/path.ts';
import { realPath } from './path.ts';

/** Here links stand for descriptors, and are followed. The files of /dev/shm are ordinary ones. */
const SYSTEM_LINKS = /^\/(?:dev\/(?!shm\/)|proc\/)/;

/**
 * The file that a write to `name` changes, links followed; a dangling link is itself replaced. In a directory of unknown origin
 * a link could lead to any of the user's files, so this throws an Error for a link to a file outside of its own directory, and
 * for a directory below the working directory that is a link out of it. Other directories on the path may be links.
 */
export function resolveWritingTarget(name: string, cwd: string): string {
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

/** Throws an Error if the path enters the working directory and leaves it again through a link. */
function refuseDirectoryOut(path: string, cwd: string): void {
  const home = realPath(cwd);
  if (home === undefined) return;
  let isInside = false;
  for (const directory of listParents(path)) {
    const real = realPath(directory);
    // Nothing can be written there; the system's error will say why.
    if (real === undefined) return;
    if (contains(home, real)) isInside = true;
    else if (isInside) {
      const way = 'name that place itself, or remove the link';
      throw new Error(`${directory} is a link to ${real}, outside of the working directory; ${way}`);
    }
  }
}

function listParents(path: string): readonly string[] {
  const parent = dirname(path);
  return parent === path ? [] : [...listParents(parent), parent];
}
