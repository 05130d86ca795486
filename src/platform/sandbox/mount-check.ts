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

export interface MountCheck {
  readonly identified: readonly IdentifiedPath[];
  readonly readOnly: readonly string[];
  /** The program, absolute. */
  readonly stat: string;
}

/**
 * The words that run a program after a check. Engines find what they mount by its path, and somebody may put a link there in that moment:
 * then a directory that was never meant would be writable. So the first thing that runs inside compares what is there with what was meant;
 * if it differs, nothing runs, and the status is the shell's for what cannot be run.
 */
export function checkMounts(check: MountCheck, { command, args }: ProgramStart): readonly string[] {
  const { identified, readOnly, stat } = check;
  const paths = identified.map(({ path }) => quoteForShell(path)).join(' ');
  const ids = identified.map(({ id }) => id).join('\n');
  const conditions = [
    ...(identified.length === 0 ? [] : [`[ "$(${quoteForShell(stat)} -c %d:%i -- ${paths})" = '${ids}' ]`]),
    ...readOnly.map((path) => `[ ! -w ${quoteForShell(path)} ]`),
  ];
  if (conditions.length === 0) return [command, ...args];
  const refusal = "{ echo 'gmn: a directory was replaced while the sandbox started; nothing was run' >&2; exit 126; }";
  return ['/bin/sh', '-c', `${conditions.join(' &&\n')} ||\n${refusal}\nexec "$@"`, 'sh', command, ...args];
}
