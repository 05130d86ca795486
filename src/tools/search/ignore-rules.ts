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
export function rulesFor(directory: string, workspace: string): IgnoreRules | undefined {
  const above = rulesAbove(directory, contains(workspace, directory) ? workspace : directory);
  if (above.unreadable !== undefined) throw unreadable(above.unreadable);
  return above.isStartOut || above.isStartIgnored ? undefined : rulesFrom(directory, above).within(directory);
}

/** The rules of a directory the user named explicitly: ignore files above it do not count. */
export function rulesOfNamed(directory: string): IgnoreRules {
  return rulesFrom(directory, NO_RULES).within(directory);
}

function rulesFrom(start: string, rules: SearchRules): IgnoreRules {
  const below = (path: string): string => slashed(relative(start, path));
  return {
    ignores: (path, kind) => rules.ignores(below(path), kind),
    within: (directory) => {
      const inner = rulesWithin(rules, below(directory), directory);
      if (inner === undefined) throw unreadable(directory);
      return rulesFrom(start, inner);
    },
  };
}

function unreadable(directory: string): AppError {
  return new AppError('usage', `the ignore files of ${directory} cannot be read, or have too much in them`, {
    hint: 'What they exclude is unknown. Name the files one by one.',
  });
}

/** A relative path with slashes, as in ignore files, globs and messages. */
export function slashed(path: string): string {
  return sep === '/' ? path : path.replaceAll(sep, '/');
}
