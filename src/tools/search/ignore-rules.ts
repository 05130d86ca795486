import { relative, sep } from 'node:path';
import { AppError } from '../../core/error.ts';
import { contains } from '../../core/text/path.ts';
import { NO_RULES, rulesAbove, rulesWithin, type IgnoreRules as SearchRules } from './ignore.ts';

/** The ignore files of a directory and of those above it, read as the tools read them. */
interface IgnoreRules {
  /** Whether the path, directly below the deepest of those directories, is ignored. */
  ignores(path: string, kind: 'file' | 'directory'): boolean;
  /** Adds the rules of one more directory. Throws AppError `usage` if its ignore files cannot be read. */
  within(directory: string): IgnoreRules;
}

/**
 * The rules in force in `directory`, from the top of its repository (or of the workspace) down, its own included;
 * undefined if the directory itself is ignored. Both paths must be real paths. Throws AppError `usage` if an ignore
 * file cannot be read.
 */
export function readRules(directory: string, workspace: string): IgnoreRules | undefined {
  const above = rulesAbove(directory, contains(workspace, directory) ? workspace : directory);
  if (above.unreadable !== undefined) throw unreadableError(above.unreadable);
  return above.isStartOut || above.isStartIgnored ? undefined : createRules(directory, above).within(directory);
}

/** The rules of a directory the user named explicitly: ignore files above it do not count. */
export function readNamedRules(directory: string): IgnoreRules {
  return createRules(directory, NO_RULES).within(directory);
}

function createRules(start: string, rules: SearchRules): IgnoreRules {
  const below = (path: string): string => toSlashes(relative(start, path));
  return {
    ignores: (path, kind) => rules.ignores(below(path), kind),
    within: (directory) => {
      const inner = rulesWithin(rules, below(directory), directory);
      if (inner === undefined) throw unreadableError(directory);
      return createRules(start, inner);
    },
  };
}

function unreadableError(directory: string): AppError {
  return new AppError('usage', `the ignore files of ${directory} cannot be read, or have too much in them`, {
    hint: 'What they exclude is unknown. Name the files one by one.',
  });
}

/** A relative path with slashes, as in ignore files, globs and messages. */
export function toSlashes(path: string): string {
  return sep === '/' ? path : path.replaceAll(sep, '/');
}
