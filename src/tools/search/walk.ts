import { join } from 'node:path';
import {
  type Entry,
  type HandleMode,
  type OpenDirectory,
  openDirectorySync,
  readEntries,
} from '../../platform/files/directory-sync.ts';
import type { Pace } from '../../platform/runtime/pace.ts';
import { type IgnoreRules, readRulesWithin } from './ignore.ts';

export interface WalkedDirectory extends Pick<OpenDirectory, 'address' | 'close'> {
  /** Below the start, with slashes; empty for the start itself. */
  readonly below: string;
  readonly files: readonly string[];
  readonly directories: readonly string[];
}

interface WalkRequest {
  readonly start: string;
  readonly handleMode: HandleMode;
  /** The rules above the start; the walk reads those of the start itself. */
  readonly rules: IgnoreRules;
  readonly enters: (path: string, name: string) => boolean;
  readonly shows: (below: string) => boolean;
  /** In steps below the start; unlimited if absent. */
  readonly maxDepth?: number;
  /** The default, `depth`, finishes a directory before its siblings; `breadth` finds near files first. */
  readonly order?: 'depth' | 'breadth';
  readonly pace: Pace;
  /** Called for a link, and for what `enters` or `shows` refuses. Ignored entries and special files are skipped silently. */
  readonly onSkipped?: (below: string, kind: 'file' | 'directory' | 'link') => void;
  /** Called for a directory that is omitted; without a cause, its ignore files cannot be read. May throw. */
  readonly onUnreadable: (path: string, cause?: unknown) => void;
  /** Called with the reason if the pace ends the walk early. May throw. */
  readonly onStopped: (why: string) => void;
}

interface Pending {
  readonly below: string;
  readonly depth: number;
  readonly rules: IgnoreRules;
}

/**
 * Yields the directories below a start, itself first, with what ignore files and the request leave of each; the
 * consumer closes them. Links are never followed, so there are no loops and no way out. Yields to the event loop in
 * between. Throws the signal's reason.
 */
export async function* walkTree(request: WalkRequest): AsyncGenerator<WalkedDirectory, void> {
  const { start, pace, order = 'depth' } = request;
  const pending: Pending[] = [{ below: '', depth: 1, rules: request.rules }];
  const takeNext = (): Pending | undefined => (order === 'breadth' ? pending.shift() : pending.pop());
  for (let next = takeNext(); next !== undefined; next = takeNext()) {
    const { below, depth } = next;
    const path = below === '' ? start : join(start, below);
    const directory = openOrReport(path, request);
    if (directory === undefined) continue;
    let isHandedOn = false;
    try {
      const entries = await readEntries(directory.address, pace);
      const rules = readRulesWithin(next.rules, below, directory.address, entries);
      if (rules === undefined) {
        request.onUnreadable(path);
        continue;
      }
      const { files, directories } = await sortEntries(request, { ...next, rules }, entries);
      // Popped from the end of the stack, so the first one must be last.
      for (const name of order === 'breadth' ? directories : directories.toReversed())
        pending.push({ below: joinBelow(below, name), depth: depth + 1, rules });
      isHandedOn = true;
      yield { ...directory, below, files, directories };
    } finally {
      if (!isHandedOn) directory.close();
    }
    const why = pace.findStopReason();
    if (why !== undefined) return request.onStopped(why);
  }
}

async function sortEntries(
  request: WalkRequest,
  here: Pending,
  entries: readonly Entry[],
): Promise<Pick<WalkedDirectory, 'files' | 'directories'>> {
  const { pace, start, maxDepth = Number.POSITIVE_INFINITY } = request;
  const files: string[] = [];
  const directories: string[] = [];
  for (const { name, kind } of entries) {
    if (pace.isDue()) {
      await pace.yieldToLoop();
      if (pace.findStopReason() !== undefined) break;
    }
    const below = joinBelow(here.below, name);
    if (kind === 'other' || here.rules.ignores(below, kind === 'directory' ? 'directory' : 'file')) continue;
    if (kind === 'directory') {
      if (here.depth >= maxDepth) continue;
      if (request.enters(join(start, below), name)) directories.push(name);
      else request.onSkipped?.(below, kind);
    } else if (kind === 'file' && request.shows(below)) files.push(name);
    else request.onSkipped?.(below, kind);
  }
  return { files, directories };
}

export function joinBelow(below: string, name: string): string {
  return below === '' ? name : `${below}/${name}`;
}

function openOrReport(path: string, { handleMode, onUnreadable }: WalkRequest): OpenDirectory | undefined {
  try {
    return openDirectorySync(path, handleMode);
  } catch (thrown) {
    onUnreadable(path, thrown);
    return undefined;
  }
}
