import { relative, sep } from 'node:path';
import { AppError } from '../../core/error.ts';
import { contains } from '../../core/text/path.ts';
import { NO_RULES, rulesAbove, rulesWithin, type IgnoreRules as SearchRules } from './ignore.ts';

/** The ignore files of a directory and of those above it, read as the tools read them. */
interface IgnoreRules {
  /** Whether the path, directly below the deepest of those directories, is left out. */
  ignores(path: string, kind: 'file' | 'directory'): boolean;
  /** The same rules and those of one directory more. Throws AppError `usage` if its ignore files cannot be asked. */
  within(directory: string): IgnoreRules;
}

/**
 * The rules in force in `directory`, from the top of its repository (or of the workspace) down, its own included;
 * undefined if the directory itself is left out by them. Both paths must be free of links. Throws AppError `usage` if an
 * ignore file cannot be asked.
 */
export function rulesFor(directory: string, workspace: string): IgnoreRules | undefined {
  const above = rulesAbove(directory, contains(workspace, directory) ? workspace : directory);
  if (above.unreadable !== undefined) throw unreadable(above.unreadable);
  return above.isStartOut || above.isStartIgnored ? undefined : rulesFrom(directory, above).within(directory);
}

/** The rules of a directory that was named on purpose: what is above it does not count. */
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
    hint: 'Nobody can say what they leave out. Name the files one by one.',
  });
}

/** A relative path as it is written in ignore files, globs and messages. */
export function slashed(path: string): string {
  return sep === '/' ? path : path.replaceAll(sep, '/');
}
