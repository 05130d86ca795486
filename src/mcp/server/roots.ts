import { dirname, isAbsolute, resolve } from 'node:path';
import { AppError } from '../../core/error.ts';
import { contains, leadsAway } from '../../core/text/path.ts';
import { quoteIfNeeded } from '../../core/text/quote.ts';
import { isSensitivePath, isStatePath, splitAtRoot } from '../../core/text/secrets.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { isDirectory, realPath } from '../../platform/files/path.ts';

export type Roots = ReturnType<typeof createRoots>;

/** Fixed when the server starts. Expects paths with links resolved. Relative names are resolved against the first root. */
export function createRoots(list: readonly string[]) {
  const has = (path: string): boolean => list.some((root) => contains(root, path));
  const requireRealPath = (name: string, directory = name): string => {
    const [first] = list;
    if (first === undefined) throw outsideRootsError(name, directory);
    // The system would cut the name at a NUL.
    const path = name.includes('\0') || leadsAway(name, list) ? undefined : realPath(resolve(first, name));
    // Reveal nothing about paths outside, not even whether they exist.
    if (path === undefined && !has(resolve(first, name))) throw outsideRootsError(name, directory);
    if (path === undefined) throw invalidDirectoryError(`there is no directory "${sanitize(name)}"`, 'Check the path.');
    if (has(path)) return path;
    throw outsideRootsError(name, directory);
  };
  return {
    list,
    /** Expects a path with links resolved. */
    has,
    /** The real path inside a root; refuses files that are likely to hold secrets. Throws as `requireDirectory` does. */
    requireFile(name: string): string {
      const path = requireRealPath(name, dirname(name));
      const { tail, above } = splitAtRoot(list.find((root) => contains(root, path)) ?? path, path);
      if (!isStatePath(path) && !isSensitivePath(tail, above)) return path;
      throw invalidDirectoryError(
        `${sanitize(name)} may hold secrets`,
        'Name another file: gmn sends no file that may hold keys or passwords.',
      );
    },
    /** The real path inside a root; without a name the first root. Throws AppError `INVALID_DIRECTORY`, naming the flag. */
    requireDirectory(name = list[0]): string | undefined {
      if (name === undefined) return undefined;
      // Resolved again, since a root itself may have become a link.
      const path = requireRealPath(name);
      if (isDirectory(path)) return path;
      throw invalidDirectoryError(`${sanitize(name)} is not a directory`, 'Name a directory inside a root.');
    },
  };
}

/** Tells callers of a server without roots why Gemini saw no files. */
export const NO_ROOT = 'Gemini sees no files here; whoever runs the server can change that: gmn mcp serve --root <dir>';

/** `directory` is the one to allow, which for a file is not its own name. */
export function outsideRootsError(name: string, directory = name): AppError {
  return invalidDirectoryError(
    `${sanitize(name)} is not inside a root of this server`,
    `Whoever runs it can allow that directory: gmn mcp serve --root ${isAbsolute(directory) ? quoteIfNeeded(sanitize(directory)) : '<dir>'}`,
  );
}

function invalidDirectoryError(message: string, hint: string): AppError {
  return new AppError('usage', message, { hint, code: 'INVALID_DIRECTORY' });
}
