import { resolve } from 'node:path';
import { type CommandPart, parseShellLine } from '../core/text/command-line.ts';
import type { Fence } from '../tools/workspace/fence.ts';
import { type JudgedCommand, judgeCommand } from './judge-command.ts';

/** One program of a command line. */
export interface ResolvedPart {
  readonly words: CommandPart;
  /** Which permissions for first words cover it; undefined: none does. */
  readonly allows?: Pick<JudgedCommand, 'least' | 'tasks' | 'offered'>;
  /** What it runs, without options; undefined if the table does not know all of it. */
  readonly names?: JudgedCommand['names'];
}

export interface PartsContext {
  readonly place: Fence['place'];
  /** Whether a word names a file that can be run, from a directory. */
  readonly isProgram: (word: string, directory: string) => boolean;
}

/** The programs of a command line in a directory, by its real path; undefined if not all of it is understood. */
export async function resolveParts(
  line: string,
  directory: string,
  { place, isProgram }: PartsContext,
): Promise<readonly ResolvedPart[] | undefined> {
  const parts = parseShellLine(line);
  return parts && Promise.all(parts.map(resolvePart));

  async function resolvePart(words: CommandPart): Promise<ResolvedPart> {
    const judged = judgeCommand(words, (word) => isProgram(word, directory));
    if (judged === undefined) return { words };
    const { least, tasks, offered, files, here } = judged;
    const isInside = (await Promise.all(files.map(isFree))).every(Boolean);
    const isHere = here.every((path) => resolve(directory, path) === directory);
    // A path to a program is not the program that the table knows.
    const names = words[0].includes('/') ? undefined : judged.names;
    return isInside && isHere ? { words, names, allows: { least, tasks, offered } } : { words, names };
  }

  /** Whether all that a word may name lies inside, and may be shown and changed. No fence: what a program opens by itself is not seen. */
  async function isFree(word: string): Promise<boolean> {
    // `name=path`, `HEAD:path`, `1,5:path`, `user@path`.
    const paths = new Set([word, ...word.split(/[=:,@]/)].filter((path) => path !== ''));
    return (await Promise.all([...paths].map(isFreePath))).every(Boolean);
  }

  async function isFreePath(path: string): Promise<boolean> {
    try {
      return !(await place(resolve(directory, path), 'write')).isSensitive;
    } catch {
      return false;
    }
  }
}
