import {
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  readlinkSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import type { HandleMode } from '../../platform/files/held-directory.ts';
import { movedError } from '../../platform/files/held-directory.ts';
import type { Pace } from '../../platform/runtime/pace.ts';
import { type IgnoreRules, rulesWithin } from './ignore.ts';

export interface Entry {
  readonly name: string;
  readonly kind: 'file' | 'directory' | 'link' | 'other';
}

/** A directory of a walk, opened and verified to be the one meant. */
interface OpenDirectory {
  /** The path prefix for its files. With descriptors it cannot be redirected by renames or links. */
  readonly address: string;
  readonly close: () => void;
}

export interface WalkedDirectory extends OpenDirectory {
  /** Below the start, with slashes; empty for the start itself. */
  readonly below: string;
  readonly files: readonly string[];
}

interface WalkRequest {
  /** A real path. */
  readonly start: string;
  readonly hold: HandleMode;
  readonly rules: IgnoreRules;
  /** Whether to walk into a directory, given its real path. */
  readonly enters: (path: string, name: string) => boolean;
  /** Whether to show a file, given its name and its path below the start. */
  readonly shows: (name: string, below: string) => boolean;
  /** How many steps below the start a file may be. */
  readonly maxDepth: number;
  readonly pace: Pace;
  /** Receives the counts of what is skipped. */
  readonly report: WalkReport;
}

/** What a walk skipped, and whether it reached its end. */
export interface WalkReport {
  links: number;
  special: number;
  hidden: number;
  unreadable: number;
  /** Why it stopped early; undefined if it did not. */
  stopped: string | undefined;
}

export function createReport(): WalkReport {
  return { links: 0, special: 0, hidden: 0, unreadable: 0, stopped: undefined };
}

interface Pending {
  readonly below: string;
  readonly depth: number;
  readonly rules: IgnoreRules;
}

/**
 * Yields the files below a directory, one directory at a time, honouring ignore files; the consumer closes each
 * directory. Links are never followed. Unreadable directories are counted and skipped. Yields to the event loop in
 * between. Throws the signal's reason; ends early, noted in the report, when time or entries are used up.
 */
export async function* walkTree(request: WalkRequest): AsyncGenerator<WalkedDirectory, void> {
  const { start, hold, pace, report } = request;
  const pending: Pending[] = [{ below: '', depth: 1, rules: request.rules }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const directory = tryOpenDirectory(next.below === '' ? start : join(start, next.below), hold);
    if (directory === undefined) {
      report.unreadable += 1;
      continue;
    }
    let isHandedOn = false;
    try {
      const entries = await readEntries(directory.address, pace);
      const rules = rulesWithin(next.rules, next.below, directory.address, entries);
      if (rules === undefined) {
        report.unreadable += 1;
        continue;
      }
      const { files, directories } = await sortEntries(request, { ...next, rules }, entries);
      for (const below of directories) pending.push({ below, depth: next.depth + 1, rules });
      report.stopped = pace.exhausted();
      if (files.length > 0) {
        isHandedOn = true;
        yield { ...directory, below: next.below, files };
      }
    } finally {
      if (!isHandedOn) directory.close();
    }
    if (report.stopped !== undefined) return;
  }
}

interface SortedEntries {
  readonly files: readonly string[];
  /** Below the start; in reverse, because they are popped from a stack. */
  readonly directories: readonly string[];
}

async function sortEntries(request: WalkRequest, here: Pending, entries: readonly Entry[]): Promise<SortedEntries> {
  const { report, pace, start } = request;
  const files: string[] = [];
  const directories: string[] = [];
  for (const { name, kind } of entries) {
    if (pace.isDue()) {
      await pace.yieldToLoop();
      if (pace.exhausted() !== undefined) break;
    }
    const below = here.below === '' ? name : `${here.below}/${name}`;
    if (here.rules.ignores(below, kind === 'directory' ? 'directory' : 'file')) continue;
    if (kind === 'directory') {
      if (here.depth >= request.maxDepth) continue;
      if (request.enters(join(start, below), name)) directories.push(below);
      else report.hidden += 1;
    } else if (kind === 'link') report.links += 1;
    else if (kind === 'other') report.special += 1;
    else if (request.shows(name, below)) files.push(name);
    else report.hidden += 1;
  }
  return { files, directories: directories.reverse() };
}

function tryOpenDirectory(path: string, hold: HandleMode): OpenDirectory | undefined {
  try {
    return openDirectorySync(path, hold);
  } catch {
    return undefined;
  }
}

/** Opens a directory by its real path. Throws `moved` if something else was opened, and the system's own errors. */
function openDirectorySync(path: string, hold: HandleMode): OpenDirectory {
  const descriptor = openSync(
    path,
    constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0),
  );
  try {
    const address = hold === 'descriptor' ? `/proc/self/fd/${descriptor}` : path;
    if (hold === 'descriptor' ? readlinkSync(address) !== path : !isSameDirectory(descriptor, path)) throw movedError();
    return { address, close: () => closeSync(descriptor) };
  } catch (thrown) {
    closeSync(descriptor);
    throw thrown;
  }
}

function isSameDirectory(descriptor: number, path: string): boolean {
  const opened = fstatSync(descriptor);
  const now = statSync(path);
  return realpathSync(path) === path && opened.dev === now.dev && opened.ino === now.ino;
}

/** The entries of a directory sorted by name, read in small steps. Throws the signal's reason. */
export async function readEntries(address: string, pace: Pace): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  const directory = opendirSync(address, { bufferSize: 256 });
  try {
    for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
      entries.push({ name: entry.name, kind: toKind(entry) });
      pace.count();
      if (pace.isDue()) await pace.yieldToLoop();
      if (pace.exhausted() !== undefined) break;
    }
  } finally {
    directory.closeSync();
  }
  return entries.sort((left, right) => (left.name < right.name ? -1 : 1));
}

function toKind(entry: Dirent): Entry['kind'] {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'directory';
  return entry.isSymbolicLink() ? 'link' : 'other';
}

/** Size in bytes, links not followed; undefined if there is no such file. */
export function readSize(address: string): number | undefined {
  return lstatSync(address, { throwIfNoEntry: false })?.size;
}
