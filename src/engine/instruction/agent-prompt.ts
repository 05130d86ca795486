import { join, resolve } from 'node:path';
import { formatAgentPrompt, formatSubAgentPrompt } from '../../agent/prompt.ts';
import type { App } from '../../core/app.ts';
import type { SessionStart } from '../../core/session.ts';
import { contains } from '../../core/text/path.ts';
import { isDirectory, realPath } from '../../platform/files/path.ts';
import { readSmallFile } from '../../platform/files/small-file.ts';
import { systemPlatform } from '../../platform/runtime/system.ts';

export function createAgentPrompt(
  { cwd, clock }: Pick<App, 'cwd' | 'clock'>,
  {
    start = { date: new Date(clock.now()).toDateString(), branch: readBranch(cwd) },
    directories = [],
    isChat,
    isPlanning,
  }: {
    readonly start?: SessionStart;
    readonly directories?: readonly string[];
    readonly isChat: boolean;
    readonly isPlanning?: boolean;
  },
): { readonly text: string; readonly start: SessionStart } {
  const others = directories.map((directory) => resolve(cwd, directory));
  const surroundings = { directory: cwd, directories: others, system: systemPlatform(), ...start };
  const text = formatAgentPrompt({ ...surroundings, isChat, isPlanning });
  return { text, start };
}

export function createSubAgentPrompt(text: string, { cwd, clock }: Pick<App, 'cwd' | 'clock'>): string {
  const start = { date: new Date(clock.now()).toDateString(), branch: readBranch(cwd) };
  return formatSubAgentPrompt(text, { directory: cwd, system: systemPlatform(), ...start, isChat: false });
}

/** Short and of few characters, because the author of the folder chose the name, and it becomes part of the prompt. */
const BRANCH = /^ref: refs\/heads\/([\w./-]{1,80})\s*$/;

/** From `.git/HEAD`; undefined if HEAD is detached or there is no repository. git itself is not started. */
function readBranch(cwd: string): string | undefined {
  try {
    const head = findHead(cwd);
    return head === undefined ? undefined : BRANCH.exec(readSmallFile(head) ?? '')?.[1];
  } catch {
    return undefined;
  }
}

/**
 * The HEAD of a repository that is in the working directory as a whole, links followed. A `.git` file, as in a worktree or a
 * submodule, may name a repository of somebody else, or on another computer: what is outside is not even looked up.
 */
function findHead(cwd: string): string | undefined {
  const workspace = realPath(cwd) ?? cwd;
  const findInside = (path: string): string | undefined => {
    const real = contains(workspace, path) ? realPath(path) : undefined;
    return real !== undefined && contains(workspace, real) ? real : undefined;
  };
  const git = findInside(join(workspace, '.git'));
  if (git === undefined || isDirectory(git)) return git && findInside(join(git, 'HEAD'));
  const named = /^gitdir: (.+)$/m.exec(readSmallFile(git) ?? '')?.[1]?.trimEnd();
  return named === undefined ? undefined : findInside(join(resolve(workspace, named), 'HEAD'));
}
