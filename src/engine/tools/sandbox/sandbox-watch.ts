import { relative } from 'node:path';
import { plural } from '../../../core/text/format.ts';
import { contains } from '../../../core/text/path.ts';
import { sanitize } from '../../../core/text/terminal.ts';
import { entryExists } from '../../../platform/files/path.ts';
import { findPrivileged, type PrintLimits, type Prints, printPaths } from '../../../platform/files/prints.ts';
import { REPOSITORY_ENTRIES } from '../../../tools/workspace/protected-lists.ts';
import type { WatchedList, Watcher } from './watched.ts';

export interface Watch {
  /** What is different since it was last asked: a notice for the person, else undefined. */
  report(): Promise<string | undefined>;
}

/**
 * What confined commands make stays when nothing is confined any more: git runs what the configuration of a `.git` names, even to show a status,
 * and the next instruction is read from what instructs models. So all of it is compared, by its content, with what was there before.
 */
export function startWatch(watcher: Watcher, listStubs: () => readonly string[] = () => []): Watch {
  const lookAround = (): State => look(watcher.list(), listStubs());
  let known = lookAround();
  let hasSaidPartial = false;
  return {
    async report() {
      // What the instruction is read from may be more by now. A list that cannot be read any more stays as it was.
      await watcher.refresh().catch(() => undefined);
      const now = lookAround();
      const changes = listChanges(known, now);
      const isPartial = now.isPartial && !hasSaidPartial;
      known = now;
      hasSaidPartial ||= isPartial;
      return formatChanges(changes, isPartial ? now.directories : undefined, watcher.roots);
    },
  };
}

const MAX_SHOWN = 10;

function formatChanges(
  changes: readonly Change[],
  looked: number | undefined,
  roots: readonly string[],
): string | undefined {
  const [root = ''] = roots;
  const names = changes.slice(0, MAX_SHOWN).map(({ path, how }) => {
    const name = sanitize(roots.length === 1 ? relative(root, path) : path);
    return how === 'changed' ? name : `${name} (${how})`;
  });
  const more = changes.length > MAX_SHOWN ? ` and ${plural(changes.length - MAX_SHOWN, 'other')}` : '';
  const partly =
    looked === undefined ? '' : `only the first ${looked} directories and their files were looked at for that`;
  if (changes.length === 0)
    return partly === '' ? undefined : `commands may change what instructs models or other programs run: ${partly}`;
  return `commands ran here, and what instructs models or other programs run is not as before: ${names.join(', ')}${more}. Look at it before you use git, an editor or an agent there${partly === '' ? '' : `; ${partly}`}`;
}

interface Change {
  readonly path: string;
  readonly how: 'new' | 'changed' | 'removed' | 'runs as its owner';
}

/** Of a directory that is new or was removed, what is in it is not named. */
function listChanges(before: State, after: State): readonly Change[] {
  const found: Change[] = after.privileged
    .filter((path) => !before.privileged.includes(path))
    .map((path) => ({ path, how: 'runs as its owner' }));
  for (const path of [...new Set([...before.prints.keys(), ...after.prints.keys()])].sort()) {
    const [old, now] = [before.prints.get(path), after.prints.get(path)];
    // It may also be that it is not watched any more.
    if (old === now || (now === undefined && entryExists(path))) continue;
    const how = old === undefined ? 'new' : now === undefined ? 'removed' : 'changed';
    if (!found.some((change) => change.how === how && contains(change.path, path))) found.push({ path, how });
  }
  return found;
}

const MAX_PRIVILEGED_LOOKS = 5000;

/** Of a repository, what git runs; the rest changes with every command of git. */
const REPOSITORY_PARTS = ['config', 'config.worktree', 'hooks', 'info', 'commondir', 'gitdir'];

const LIMITS: PrintLimits = {
  files: 3000,
  bytes: 1_000_000,
  select: (names) =>
    REPOSITORY_ENTRIES.some((needed) => needed.every((name) => names.includes(name)))
      ? REPOSITORY_PARTS.filter((name) => names.includes(name))
      : names,
};

interface State {
  readonly prints: Prints;
  readonly privileged: readonly string[];
  /** How many were looked at. */
  readonly directories: number;
  readonly isPartial: boolean;
}

function look({ entries, directories, isPartial }: WatchedList, stubs: readonly string[]): State {
  const paths = entries.map(({ path }) => path).filter((path) => !stubs.includes(path));
  const printed = printPaths(paths, LIMITS);
  const privileged = findPrivileged(directories, MAX_PRIVILEGED_LOOKS);
  return {
    prints: printed.prints,
    privileged: privileged.paths,
    directories: directories.length,
    isPartial: isPartial || printed.isPartial || privileged.isPartial,
  };
}
