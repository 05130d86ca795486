import { join, resolve } from 'node:path';
import { type CommandPart, parseShellLine } from '../core/text/command-line.ts';
import { isDirectory } from '../platform/files/path.ts';
import type { Fence } from '../tools/workspace/fence.ts';
import { isInRepository } from '../tools/workspace/protection.ts';
import { compareWithRule, type FileWord, type JudgedCommand, judgeCommand } from './judge-command.ts';
import { FOLLOWED, READ } from './known-commands.ts';

/** One program of a command line. */
export interface ResolvedPart {
  readonly words: CommandPart;
  /** Which permissions for first words cover it; undefined: none does. */
  readonly allows?: Pick<JudgedCommand, 'least' | 'tasks' | 'offered'>;
  /** Whether it is what a rule means, by any name; undefined if the table does not know all of it. */
  readonly compare?: (rule: readonly string[]) => 'yes' | 'no' | 'unclear';
}

export interface PartsContext {
  readonly fence: Pick<Fence, 'place' | 'isGuarded'>;
  /** Whether a word names a file that can be run, from a directory. */
  readonly isProgram: (word: string, directory: string) => boolean;
}

/** The programs of a command line in a directory, by its real path; undefined if not all of it is understood. */
export async function resolveParts(
  line: string,
  directory: string,
  { fence, isProgram }: PartsContext,
): Promise<readonly ResolvedPart[] | undefined> {
  const parts = parseShellLine(line);
  if (parts === undefined) return undefined;
  const judged = parts.map((words) => judgeCommand(words, (word) => isProgram(word, directory)));
  // git would run what the config of a repository says that a folder came with.
  const isBare = isInRepository(join(directory, 'x'));
  // Also one in quotes: too much is asked about then, never too little.
  const hasPipe = /(?<!\|)\|(?!\|)/.test(line);
  return Promise.all(parts.map((words, index) => resolvePart(words, index)));

  async function resolvePart(words: CommandPart, index: number): Promise<ResolvedPart> {
    const command = judged[index];
    if (command === undefined) return { words };
    const { least, tasks, offered, files, here } = command;
    // A path to a program is not the program that the table knows.
    const names = words[0].includes('/') ? undefined : command.names;
    const compare = names && ((rule: readonly string[]) => compareWithRule(names, rule));
    const isHere = !isBare && here.every((path) => !climbsBack(path) && resolve(directory, path) === directory);
    const isCovered = isHere && isSettled(command, index) && (await Promise.all(files.map(isFree))).every(Boolean);
    return isCovered ? { words, compare, allows: { least, tasks, offered } } : { words, compare };
  }

  /** Whether the rest of the line can change what a part does: what its words lead to, or what an unknown program reads as code. */
  function isSettled({ files, names }: JudgedCommand, index: number): boolean {
    if (hasPipe && index > 0 && names === undefined) return false;
    const isMoved = judged.some((other, at) => other?.movesFiles && (hasPipe ? at !== index : at < index));
    return !isMoved || files.every(({ kind }) => kind !== undefined && !FOLLOWED.has(kind));
  }

  /** Whether all that a word may name lies inside, and may be shown and changed. No fence: what a program opens by itself is not seen. */
  async function isFree({ word, kind = '' }: FileWord): Promise<boolean> {
    // `name=path`, `HEAD:path`, `1,5:path`, `user@path`.
    const paths = new Set([word, ...word.split(/[=:,@]/)].filter((path) => path !== ''));
    return (await Promise.all([...paths].map((path) => isFreePath(path, kind)))).every(Boolean);
  }

  async function isFreePath(path: string, kind: string): Promise<boolean> {
    try {
      const use = READ.has(kind) ? 'read' : 'write';
      const place = await fence.place(resolve(directory, path), use);
      if (climbsBack(path) || place.isSensitive || (kind === 'files' && isDirectory(place.path))) return false;
      return use === 'read' || !(await fence.isGuarded(place.path));
    } catch {
      return false;
    }
  }
}

/** Whether a name stands before a `..`: behind a link that is not the directory above the link. */
function climbsBack(path: string): boolean {
  const steps = path.split(/[\\/]/).filter((step) => step !== '' && step !== '.');
  return steps.slice(0, Math.max(0, steps.lastIndexOf('..'))).some((step) => step !== '..');
}
