import { join, posix } from 'node:path';
import { isSensitiveEntry } from '../core/text/secrets.ts';
import { realPath } from '../platform/files/path.ts';
import { filteredAt } from '../platform/runtime/pace.ts';
import { hasSharedLevels, ignoredPaths } from './search/ignore.ts';
import { runRipgrep, takePaths } from './search/ripgrep.ts';
import { FOREIGN, rulesOfPlace, treePace } from './tree.ts';
import type { Place } from './workspace/fence.ts';
import type { Workspace } from './workspace/workspace.ts';

/** Which files ripgrep is to look at. */
export interface RipgrepWalk {
  readonly workspace: Workspace;
  readonly place: Place;
  readonly isIgnoring: boolean;
  /** Given a path below the place, with slashes. */
  readonly accepts: (path: string) => boolean;
}

const MAX_MS = 20_000;

/** What ripgrep must know to walk as we do, as far as it can. */
export function walkArgs({ workspace, place, isIgnoring }: RipgrepWalk): readonly string[] {
  const hasParents = isIgnoring && hasSharedLevels(rulesOfPlace(workspace, place));
  const own = ['--no-ignore-dot', '--no-ignore-global', '--no-ignore-exclude', '--no-require-git'];
  return [
    ...['--no-config', '--no-messages', '--null', '--color=never', '--hidden'],
    ...(isIgnoring ? own : ['--no-ignore']),
    ...(hasParents ? [] : ['--no-ignore-parent']),
    ...['.git', ...FOREIGN].flatMap((name) => ['--glob', `!**/${name}/**`]),
  ];
}

/** A glob that ripgrep reads as we do, undefined if it is none. */
export function sharedGlob(text: string): string | undefined {
  return /^[\w*][\w*./-]*$/.test(text) ? text : undefined;
}

/** Says of a path ripgrep named whether it may be shown: it knows neither all ignore files, nor secrets, nor the fence. */
export function isShownBy({ workspace, place, accepts, isIgnoring }: RipgrepWalk): (path: string) => boolean {
  const isIgnored = ignoredPaths(place.path, rulesOfPlace(workspace, place, isIgnoring));
  const isOpen = (below: string): boolean => {
    const path = join(place.path, below);
    return workspace.isListed(path) && realPath(path) === path;
  };
  const known = new Map<string, boolean>();
  const isOpenDirectory = (below: string): boolean => {
    const answer = known.get(below) ?? isOpen(below);
    known.set(below, answer);
    return answer;
  };
  return (path) =>
    isPlain(path) && accepts(path) && isOpenDirectory(posix.dirname(path)) && !isIgnored(path) && isOpen(path);
}

/** Says of a path that is not shown whether it is lost: its name is not UTF-8, so that nobody can open it by this one. */
export function isLostBy({ workspace, place, accepts, isIgnoring }: RipgrepWalk): (path: string) => boolean {
  const isIgnored = ignoredPaths(place.path, rulesOfPlace(workspace, place, isIgnoring));
  return (path) => path.includes('\ufffd') && isPlain(path) && accepts(path) && !isIgnored(path);
}

/** What can be told from the path alone. */
function isPlain(path: string): boolean {
  const steps = path.split('/');
  const isForeign = steps.some((step) => step === '' || step === '..' || step === '.git' || FOREIGN.includes(step));
  return !isForeign && !isSensitiveEntry(path);
}

/** Puts things in the order of a walk: the files of a directory, then what is in the directories below. */
export function inWalkOrder<T>(items: readonly T[], pathOf: (item: T) => string): readonly T[] {
  const keyed = items.map((item) => ({ item, key: walkKey(pathOf(item)) }));
  return keyed.sort((left, right) => (left.key < right.key ? -1 : 1)).map(({ item }) => item);
}

/** A directory comes after every file, and its own name ends before that of a longer one. */
function walkKey(path: string): string {
  const name = path.lastIndexOf('/') + 1;
  return `${path.slice(0, name).replace(/([^/]+)\//g, '2$1\u0001')}1${path.slice(name)}`;
}

export interface NamedFiles {
  /** In the order of a walk, as many as were asked for. */
  readonly files: readonly string[];
  /** How many there are. */
  readonly total: number;
  /** Why ripgrep was stopped before its end; absent if it was not. */
  readonly stopped?: string;
}

/** The files ripgrep walks by. `glob` spares it some; undefined if there is no ripgrep, or if it fails. */
export async function ripgrepFiles(
  program: string | undefined,
  walk: RipgrepWalk & { readonly glob: string | undefined; readonly isCaseSensitive: boolean; readonly max: number },
  signal: AbortSignal,
): Promise<NamedFiles | undefined> {
  if (program === undefined) return undefined;
  const option = walk.isCaseSensitive ? '--glob' : '--iglob';
  // The last glob that matches wins: what is left out comes last.
  const args = [...(walk.glob === undefined ? [] : [option, walk.glob]), ...walkArgs(walk), '--files', '--', './'];
  const found: string[] = [];
  const take = (printed: Buffer): Buffer => takePaths(printed, found);
  const { stopped, isGood } = await runRipgrep({ program, args, cwd: walk.place.path, maxMs: MAX_MS, take }, signal);
  if (!isGood) return undefined;
  const pace = treePace(signal);
  const wanted = await filteredAt(pace, found, (path) => isPlain(path) && walk.accepts(path));
  const named = inWalkOrder(wanted, (path) => path);
  // Only those that are shown are looked up.
  const isShown = isShownBy(walk);
  const files: string[] = [];
  let rejected = 0;
  for (const path of named) {
    if (files.length === walk.max) break;
    if (isShown(path)) files.push(path);
    else rejected += 1;
  }
  const late = stopped === undefined ? pace.exhausted() : `after ${MAX_MS / 1000} seconds`;
  const early = late === undefined ? {} : { stopped: late };
  return { files, total: named.length - rejected, ...early };
}
