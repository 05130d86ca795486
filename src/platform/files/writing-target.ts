import { lstatSync, statSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { AppError } from '../../core/error.ts';
import { contains, isRemotePath } from '../../core/text/path.ts';
import { findFileKind, realPath } from './path.ts';

/** Here links stand for descriptors, and are followed. The files of /dev/shm are ordinary ones. */
const SYSTEM_LINKS = /^\/(?:dev\/(?!shm\/)|proc\/)/;

/**
 * The file that a write to `name` changes, links followed. In a directory of unknown origin a link could lead to any of the user's
 * files, so this throws AppError `usage` for a link to a file outside of its own directory, for one that leads nowhere yet, and for
 * a directory below the working directory that is a link out of it. Other directories on the path may be links.
 */
export function resolveWritingTarget(name: string, cwd: string): string {
  // Where it means stdout, nothing is written to a file.
  if (name === '-') {
    throw new AppError('usage', 'cannot write -: this needs a file', {
      hint: 'Name one. What goes to stdout by itself needs no flag for that; a file of this name is ./-',
    });
  }
  const path = resolve(cwd, name);
  if (isRemotePath(basename(path)) || /^\\\\[.?]\\/.test(path)) throw deviceError(name);
  const target = realPath(path);
  if (SYSTEM_LINKS.test(path)) return target ?? path;
  const out = findWayOut(path, cwd);
  if (out !== undefined) throw linkError(name, out);
  if (target === undefined && findFileKind(path) === 'link') throw linkError(name, 'it is a link that leads nowhere');
  if (target === undefined) return path;
  if (!lstatSync(path).isSymbolicLink() || !statSync(target).isFile()) return target;
  const home = realPath(dirname(path)) ?? dirname(path);
  if (contains(home, target)) return target;
  throw linkError(name, `it is a link to ${target}, outside of its directory`);
}

/** A file of that name could hardly be removed again. */
function deviceError(name: string): AppError {
  return new AppError('usage', `cannot write ${name}: it is a device of Windows`, { hint: 'Name a file.' });
}

function linkError(name: string, why: string): AppError {
  return new AppError('usage', `cannot write ${name}: ${why}`, {
    hint: 'Name that place itself, or remove the link.',
  });
}

/** Why the path must not be written to: it enters the working directory and leaves it again through a link. */
function findWayOut(path: string, cwd: string): string | undefined {
  const home = realPath(cwd);
  if (home === undefined) return undefined;
  let isInside = false;
  for (const directory of listParents(path)) {
    const real = realPath(directory);
    // Nothing can be written there; the system's error will say why.
    if (real === undefined) return undefined;
    if (contains(home, real)) isInside = true;
    else if (isInside) return `${directory} is a link to ${real}, outside of the working directory`;
  }
  return undefined;
}

function listParents(path: string): readonly string[] {
  const parent = dirname(path);
  return parent === path ? [] : [...listParents(parent), parent];
}
