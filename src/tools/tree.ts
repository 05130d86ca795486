import { basename, dirname } from 'node:path';
import { AppError } from '../core/error.ts';
import { contains } from '../core/text/path.ts';
import { type Pace, startPace } from '../platform/runtime/pace.ts';
import { createIgnoreCheck, type IgnoreRules, readRulesAbove } from './search/ignore.ts';
import { type WalkedDirectory, walkTree } from './search/walk.ts';
import type { Place } from './workspace/fence.ts';
import type { Workspace } from './workspace/workspace.ts';

interface TreeOptions {
  /** Whether `.gitignore` counts; `.geminiignore` always does. */
  readonly isIgnoring: boolean;
  readonly maxDepth?: number;
  readonly accepts: (below: string) => boolean;
}

interface WalkReport {
  unreadable: number;
  stopped: string | undefined;
}

export interface Tree {
  readonly place: Place;
  readonly directories: AsyncIterable<WalkedDirectory>;
  /** Complete once all directories were yielded. */
  readonly report: WalkReport;
}

const LIMITS = { maxEntries: 5_000_000, maxMs: 20_000 };

/** Directories skipped unless named: their content is not the user's own. */
export const SKIPPED_DIRECTORIES: readonly string[] = ['node_modules', 'bower_components', '.hg', '.svn'];

/**
 * The rules in force in a directory, without those of its own ignore files. `isIgnoring` concerns `.gitignore` only.
 * Throws AppError `usage` if a `.geminiignore` excludes the directory.
 */
export function readPlaceRules(workspace: Workspace, place: Place, isIgnoring = true): IgnoreRules {
  const root = workspace.roots.find((candidate) => contains(candidate, place.path)) ?? dirname(place.path);
  const rules = readRulesAbove(place.path, root, isIgnoring);
  if (!rules.isStartOut) return rules;
  throw excludedError();
}

function excludedError(): AppError {
  return new AppError('usage', 'it is left out by .geminiignore', {
    hint: 'The user keeps it from models. Continue without it, or ask the user for what you need to know.',
  });
}

/** Throws AppError `usage` if a `.geminiignore` excludes the file, or one that might cannot be read. */
export function rejectExcluded({ roots }: Workspace, place: Place): void {
  const root = roots.find((candidate) => contains(candidate, place.path));
  // A text of the output store is outside all roots.
  if (root === undefined) return;
  const directory = dirname(place.path);
  const above = readRulesAbove(directory, contains(root, directory) ? root : directory, false);
  const name = basename(place.path);
  const isOut = name !== '.git' && createIgnoreCheck(directory, above)(name);
  if (above.isStartOut || isOut) throw excludedError();
}

export function createTreePace(signal: AbortSignal): Pace {
  return startPace(LIMITS, signal);
}

export async function openTree(
  workspace: Workspace,
  path: string,
  { isIgnoring, maxDepth, accepts }: TreeOptions,
  signal: AbortSignal,
): Promise<Tree> {
  const { place, directory } = await workspace.openDirectory(path);
  await directory.close();
  const report: WalkReport = { unreadable: 0, stopped: undefined };
  const directories = walkTree({
    start: place.path,
    handleMode: workspace.handleMode,
    rules: readPlaceRules(workspace, place, isIgnoring),
    enters: (real, name) => !SKIPPED_DIRECTORIES.includes(name) && workspace.isListed(real),
    // The directory was checked by its real path, and links are not followed. A pattern is much cheaper than the lists of secrets.
    shows: (below) => accepts(below) && !workspace.isSecretEntry(`${place.path}/${below}`),
    maxDepth,
    pace: createTreePace(signal),
    onUnreadable: () => {
      report.unreadable += 1;
    },
    onStopped: (why) => {
      report.stopped = why;
    },
  });
  return { place, directories, report };
}

export function formatNotes({ unreadable, stopped }: WalkReport): readonly string[] {
  return [
    ...(stopped === undefined ? [] : [`incomplete: stopped ${stopped}; name a smaller directory`]),
    ...(unreadable === 0 ? [] : [`${unreadable} could not be read`]),
  ];
}

export function toModelPath(place: Place, below: string): string {
  return place.name === '.' ? below : `${place.name}/${below}`;
}
