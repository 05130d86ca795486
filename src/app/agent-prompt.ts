import { dirname, join, resolve } from 'node:path';
import { formatAgentPrompt } from '../agent/prompt.ts';
import type { App } from '../core/app.ts';
import type { SessionStart } from '../core/session.ts';
import { isDirectory, pathExists } from '../platform/files/path.ts';
import { readSmallFile } from '../platform/files/small-file.ts';
import { systemPlatform } from '../platform/runtime/system.ts';

export function createAgentPrompt(
  { cwd, clock }: Pick<App, 'cwd' | 'clock'>,
  {
    start = readStart(cwd, clock.now()),
    directories = [],
    isChat,
  }: {
    readonly start?: SessionStart | undefined;
    /** Of `--include-directories`. */
    readonly directories?: readonly string[];
    readonly isChat: boolean;
  },
): { readonly text: string; readonly start: SessionStart } {
  const others = directories.map((directory) => resolve(cwd, directory));
  const text = formatAgentPrompt({ directory: cwd, directories: others, system: systemPlatform(), ...start, isChat });
  return { text, start };
}

function readStart(cwd: string, now: number): SessionStart {
  const branch = readBranch(cwd);
  return { date: new Date(now).toDateString(), ...(branch === undefined ? {} : { branch }) };
}

/** The characters are limited because the author of the repository chose the name, and it becomes part of the prompt. */
const BRANCH = /^ref: refs\/heads\/([\p{L}\p{N}._/+@#=-]{1,200})\s*$/u;

/** From `.git/HEAD`; undefined if HEAD is detached or there is no repository. git itself is not started. */
function readBranch(cwd: string): string | undefined {
  try {
    const git = findGit(cwd);
    const head = git === undefined ? undefined : readSmallFile(join(git, 'HEAD'));
    return head === undefined ? undefined : BRANCH.exec(head)?.[1];
  } catch {
    return undefined;
  }
}

/** The directory of the repository's HEAD: in a worktree or a submodule `.git` is a file that names it. */
function findGit(cwd: string): string | undefined {
  for (let folder = cwd; ; folder = dirname(folder)) {
    const git = join(folder, '.git');
    if (pathExists(git)) {
      if (isDirectory(git)) return git;
      const named = /^gitdir: (.+)$/m.exec(readSmallFile(git) ?? '')?.[1]?.trimEnd();
      // A path on another computer must not be opened: on Windows that would sign in there.
      return named === undefined || /^[\\/]{2}/.test(named) ? undefined : resolve(folder, named);
    }
    if (dirname(folder) === folder) return undefined;
  }
}
