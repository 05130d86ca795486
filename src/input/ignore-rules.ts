import { dirname, join, relative, sep } from 'node:path';
import { contains } from '../core/containment.ts';
import { AppError } from '../core/error.ts';
import { type IgnoreFile, parseIgnoreFile } from '../core/ignore-file.ts';
import { lookUp, readBytesIfAny } from '../platform/files.ts';

const IGNORE_FILES = ['.gitignore', '.geminiignore'] as const;
const MAX_IGNORE_BYTES = 1_000_000;

/** The ignore files of a directory and of those above it. */
export interface IgnoreRules {
  /** Whether the path, directly below the deepest of those directories, is left out. */
  ignores(path: string, kind: 'file' | 'directory'): boolean;
  /** The same rules and those of one directory more. */
  within(directory: string): Promise<IgnoreRules>;
}

interface Level {
  readonly directory: string;
  readonly file: IgnoreFile;
}

/** No rules but the one that leaves `.git` out. */
export const NO_RULES: IgnoreRules = rulesOf([]);

function rulesOf(levels: readonly Level[]): IgnoreRules {
  return {
    ignores: (path, kind) => {
      if (path.endsWith(`${sep}.git`)) return true;
      // Like git: the deepest file that has a word to say has the last one.
      const verdicts = levels.map(({ directory, file }) => file.verdict(slashed(relative(directory, path)), kind));
      return verdicts.find((verdict) => verdict !== undefined) === 'ignored';
    },
    within: async (directory) => {
      const level = await readLevel(directory);
      return level === undefined ? rulesOf(levels) : rulesOf([level, ...levels]);
    },
  };
}

async function readLevel(directory: string): Promise<Level | undefined> {
  const texts: string[] = [];
  for (const name of IGNORE_FILES) {
    const path = join(directory, name);
    const bytes = await readBytesIfAny(path, {
      maxBytes: MAX_IGNORE_BYTES,
      tooLarge: () => new AppError('usage', `${path} is larger than 1 MB`, { hint: 'Mend or remove that file.' }),
    });
    if (bytes !== undefined) texts.push(new TextDecoder().decode(bytes));
  }
  if (texts.length === 0) return undefined;
  const file = parseIgnoreFile(texts.join('\n'));
  if (file !== undefined) return { directory, file };
  throw new AppError('usage', `the ignore files of ${directory} have too many patterns, or too long ones`, {
    hint: 'Nobody can say what they leave out. Name the files one by one.',
  });
}

/**
 * The rules in force in `directory`, from the top of its repository (or of the workspace) down, its own included;
 * undefined if the directory itself is left out by them. Both paths must be free of links.
 */
export async function rulesFor(directory: string, workspace: string): Promise<IgnoreRules | undefined> {
  const top = (await repositoryOf(directory)) ?? (contains(workspace, directory) ? workspace : directory);
  let rules = await NO_RULES.within(top);
  let path = top;
  for (const name of relative(top, directory).split(sep)) {
    if (name === '') continue;
    path = join(path, name);
    if (rules.ignores(path, 'directory')) {
      if (!contains(path, workspace)) return undefined;
      // Whoever works inside an ignored directory does so on purpose.
      rules = NO_RULES;
    }
    rules = await rules.within(path);
  }
  return rules;
}

async function repositoryOf(directory: string): Promise<string | undefined> {
  for (let path = directory; ; path = dirname(path)) {
    if ((await lookUp(join(path, '.git'))) !== undefined) return path;
    if (dirname(path) === path) return undefined;
  }
}

/** A relative path as it is written in ignore files, globs and messages. */
export function slashed(path: string): string {
  return sep === '/' ? path : path.replaceAll(sep, '/');
}
