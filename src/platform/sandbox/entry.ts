import { lstatSync } from 'node:fs';
import type { ProgramStart } from '../../core/confine.ts';
import { AppError } from '../../core/error.ts';
import { quoteForShell } from '../../core/text/quote.ts';

/** A path, and which file it was when the profile was made. */
export interface IdentifiedPath {
  readonly path: string;
  readonly id: string;
}

/** Throws AppError `config` if one of them is gone, or is a link. */
export function identifyPaths(paths: readonly string[]): readonly IdentifiedPath[] {
  return paths.map((path) => {
    const status = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    if (status === undefined || status.isSymbolicLink()) {
      throw new AppError('config', `${path} was replaced while a sandbox was made for it`, { hint: 'Run it again.' });
    }
    return { path, id: `${status.dev}:${status.ino}` };
  });
}

/** Absolute. */
export interface EntryPrograms {
  readonly stat: string;
  readonly cat: string;
}

/** What the first program inside does before it runs the one that is wanted. */
export interface Entry {
  readonly identified: readonly IdentifiedPath[];
  readonly readOnly: readonly string[];
  readonly programs: EntryPrograms;
  /** The descriptor from which it reads the variables of `formatVariables`. */
  readonly variables: number;
}

/**
 * The words that run a program after a check. Engines find what they mount by its path, and somebody may put a link there in that moment:
 * then a directory that was never meant would be writable. So the first thing that runs inside compares what is there with what was meant;
 * if it differs, nothing runs, and the status is the shell's for what cannot be run.
 *
 * Only then the program gets its variables. One such as LD_PRELOAD, which a folder may have written for its server, would otherwise run code in
 * the engine, outside; and on a list of processes everybody could read them.
 */
export function listEntryWords(entry: Entry, { command, args }: ProgramStart): readonly string[] {
  const { identified, readOnly, programs, variables } = entry;
  const paths = identified.map(({ path }) => quoteForShell(path)).join(' ');
  const ids = identified.map(({ id }) => id).join('\n');
  const conditions = [
    ...(identified.length === 0 ? [] : [`[ "$(${quoteForShell(programs.stat)} -c %d:%i -- ${paths})" = '${ids}' ]`]),
    ...readOnly.map((path) => `[ ! -w ${quoteForShell(path)} ]`),
  ];
  const refusal = "{ echo 'gmn: a directory was replaced while the sandbox started; nothing was run' >&2; exit 126; }";
  const script = [
    ...(conditions.length === 0 ? [] : [`${conditions.join(' &&\n')} ||\n${refusal}`]),
    `eval "$(${quoteForShell(programs.cat)} <&${variables})"`,
    `exec "$@" ${variables}<&-`,
  ];
  return ['/bin/sh', '-c', script.join('\n'), 'sh', command, ...args];
}

/** As lines of a shell. Some are the shell's own, and it refuses to set them: that must not end it. */
export function formatVariables(env: ProgramStart['env']): Uint8Array {
  const lines = Object.entries(env)
    .filter(([name]) => /^[a-z_]\w*$/i.test(name))
    .map(([name, value]) => `command export ${name}=${quoteForShell(value)}`);
  return Buffer.from(`{ :\n${lines.join('\n')}\n} 2> /dev/null`);
}
