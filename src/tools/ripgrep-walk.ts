import { join, posix } from 'node:path';
import { isSecretName } from '../core/secret-files.ts';
import { realPath } from '../platform/real-path.ts';
import { ignoredPaths, RULES_OFF } from '../platform/search-ignore.ts';
import { runRipgrep, takePaths } from '../platform/search-ripgrep.ts';
import type { Place } from './fence.ts';
import { FOREIGN, rulesOfPlace } from './tree.ts';
import type { Workspace } from './workspace.ts';

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
  const hasParents = isIgnoring && rulesOfPlace(workspace, place).levels.length > 0;
  const own = ['--no-ignore-dot', '--no-ignore-global', '--no-ignore-exclude', '--no-require-git'];
  return [
    ...['--no-config', '--no-messages', '--null', '--color=never', '--hidden'],
    ...(isIgnoring ? own : ['--no-ignore']),
    ...(hasParents ? [] : ['--no-ignore-parent']),
    ...['.git', ...FOREIGN].flatMap((name) => ['--glob', `!**/${name}/**`]),
  ];
}

/** Says of a path ripgrep named whether it may be shown: it knows neither all ignore files, nor secrets, nor the fence. */
export function isShownBy({ workspace, place, accepts, isIgnoring }: RipgrepWalk): (path: string) => boolean {
  const isIgnored = ignoredPaths(place.path, isIgnoring ? rulesOfPlace(workspace, place) : RULES_OFF);
  const known = new Map<string, boolean>();
  const isOpen = (below: string): boolean => {
    const path = join(place.path, below);
    const answer = known.get(below) ?? (workspace.isListed(path) && realPath(path) === path);
    known.set(below, answer);
    return answer;
  };
  return (path) =>
    !path.startsWith('/') &&
    !path.split('/').includes('..') &&
    accepts(path) &&
    !isSecretName(posix.basename(path)) &&
    isOpen(posix.dirname(path)) &&
    !isIgnored(path);
}

/** As a walk goes: the files of a directory, then what is in the directories below. */
export function walkOrder(left: string, right: string): number {
  const [a, b] = [left.split('/'), right.split('/')];
  const depth = a.findIndex((step, index) => step !== b[index]);
  const [isFileA, isFileB] = [depth === a.length - 1, depth === b.length - 1];
  if (isFileA !== isFileB) return isFileA ? -1 : 1;
  return (a[depth] ?? '') < (b[depth] ?? '') ? -1 : 1;
}

export interface NamedFiles {
  /** In the order of a walk. */
  readonly files: readonly string[];
  /** Why ripgrep was stopped before its end; absent if it was not. */
  readonly stopped?: string;
}

/** The files ripgrep walks by. `glob` spares it some; undefined if there is no ripgrep, or if it fails. */
export async function ripgrepFiles(
  program: string | undefined,
  walk: RipgrepWalk & { readonly glob: string | undefined; readonly isCaseSensitive: boolean },
  signal: AbortSignal,
): Promise<NamedFiles | undefined> {
  if (program === undefined) return undefined;
  const option = walk.isCaseSensitive ? '--glob' : '--iglob';
  const args = [...walkArgs(walk), ...(walk.glob === undefined ? [] : [option, walk.glob]), '--files', '--', './'];
  const found: string[] = [];
  const take = (printed: Buffer): Buffer => takePaths(printed, found);
  const { stopped, isGood } = await runRipgrep({ program, args, cwd: walk.place.path, maxMs: MAX_MS, take }, signal);
  if (!isGood) return undefined;
  const files = found.filter(isShownBy(walk)).sort(walkOrder);
  return { files, ...(stopped === undefined ? {} : { stopped: `after ${MAX_MS / 1000} seconds` }) };
}
