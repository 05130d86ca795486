import { basename, dirname } from 'node:path';
import { AppError } from '../core/error.ts';
import { contains } from '../core/text/path.ts';
import { isSensitiveEntry } from '../core/text/secrets.ts';
import { type Pace, paceOf } from '../platform/runtime/pace.ts';
import { type IgnoreRules, ignoredPaths, rulesAbove } from './search/ignore.ts';
import { type WalkedDirectory, type WalkReport, walkReport, walkTree } from './search/walk.ts';
import type { Place } from './workspace/fence.ts';
import type { Workspace } from './workspace/workspace.ts';

interface TreeOptions {
  /** Whether `.gitignore` counts; `.geminiignore` always does. */
  readonly isIgnoring: boolean;
  readonly maxDepth?: number;
  /** Which files are wanted, by their paths below the start, with slashes. */
  readonly accepts: (below: string) => boolean;
}

export interface Tree {
  readonly place: Place;
  readonly directories: AsyncIterable<WalkedDirectory>;
  /** Complete when all directories were given. */
  readonly report: WalkReport;
}

const LIMITS = { maxEntries: 5_000_000, maxMs: 20_000 };

/** Directories never worth a look unless named: what is in them is not the user's own. */
export const FOREIGN: readonly string[] = ['node_modules', 'bower_components', '.hg', '.svn'];

/**
 * The rules that are in force in a directory, those of its own ignore files not included. `isIgnoring` is about
 * `.gitignore` only. Throws AppError `usage` if a `.geminiignore` leaves the directory out: that is the user's word.
 */
export function rulesOfPlace(workspace: Workspace, place: Place, isIgnoring = true): IgnoreRules {
  const root = workspace.roots.find((candidate) => contains(candidate, place.path)) ?? dirname(place.path);
  const rules = rulesAbove(place.path, root, isIgnoring);
  if (!rules.isStartOut) return rules;
  throw withheld(place);
}

function withheld({ name }: Place): AppError {
  return new AppError('usage', `${name} is left out by .geminiignore`, {
    hint: 'The user keeps it from models. Go on without it, or ask the user for what you need to know.',
  });
}

/** Throws AppError `usage` if a `.geminiignore` leaves the file out, or one that may do so cannot be read. */
export function throwIfWithheld({ roots }: Workspace, place: Place): void {
  const root = roots.find((candidate) => contains(candidate, place.path));
  // A text that was kept is in none.
  if (root === undefined) return;
  const directory = dirname(place.path);
  const above = rulesAbove(directory, contains(root, directory) ? root : directory, false);
  const name = basename(place.path);
  const isOut = name !== '.git' && ignoredPaths(directory, above)(name);
  if (above.isStartOut || isOut) throw withheld(place);
}

/** The pace of everything that looks at many files. */
export function treePace(signal: AbortSignal): Pace {
  return paceOf(LIMITS, signal);
}

/** A walk of a directory of the workspace. Throws AppError `usage` if the fence does not let it through. */
export async function openTree(
  workspace: Workspace,
  path: string,
  { isIgnoring, maxDepth = Number.POSITIVE_INFINITY, accepts }: TreeOptions,
  signal: AbortSignal,
): Promise<Tree> {
  const { place, directory } = await workspace.openDirectory(path);
  await directory.close();
  const report = walkReport();
  const directories = walkTree({
    start: place.path,
    hold: workspace.hold,
    rules: rulesOfPlace(workspace, place, isIgnoring),
    enters: (real, name) => !FOREIGN.includes(name) && workspace.isListed(real),
    // Its directory was judged by its real path, and links are not followed.
    shows: (_, below) => !isSensitiveEntry(`${place.path}/${below}`) && accepts(below),
    maxDepth,
    pace: treePace(signal),
    report,
  });
  return { place, directories, report };
}

/** What a walk left out, in words; empty if nothing that matters. */
export function notesOf({ unreadable, stopped }: WalkReport): readonly string[] {
  return [
    ...(stopped === undefined ? [] : [`incomplete: stopped ${stopped}; name a smaller directory`]),
    ...(unreadable === 0 ? [] : [`${unreadable} could not be read`]),
  ];
}

/** A path below a place, as the model knows it. */
export function pathIn(place: Place, below: string): string {
  return place.name === '.' ? below : `${place.name}/${below}`;
}
