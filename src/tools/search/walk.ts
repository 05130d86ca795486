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
import type { Hold } from '../../platform/files/held-directory.ts';
import { moved } from '../../platform/files/held-directory.ts';
import type { Pace } from '../../platform/runtime/pace.ts';
import { type IgnoreRules, rulesWithin } from './ignore.ts';

export interface Entry {
  readonly name: string;
  readonly kind: 'file' | 'directory' | 'link' | 'other';
}

/** A directory that is being walked, open and proven to be the one meant. */
interface OpenDirectory {
  /** How its files are addressed; cannot be led elsewhere where directories are held by their descriptors. */
  readonly address: string;
  readonly close: () => void;
}

export interface WalkedDirectory extends OpenDirectory {
  /** Below the start, with slashes; empty for the start itself. */
  readonly below: string;
  /** Names, in order. */
  readonly files: readonly string[];
}

interface WalkRequest {
  /** Free of links. */
  readonly start: string;
  readonly hold: Hold;
  /** The rules of the directories above the start. */
  readonly rules: IgnoreRules;
  /** Whether a directory, by its real path, is walked at all. */
  readonly enters: (path: string, name: string) => boolean;
  /** Whether a file of this name, at this path below the start, is shown. */
  readonly shows: (name: string, below: string) => boolean;
  /** How many steps below the start a file may be. */
  readonly maxDepth: number;
  readonly pace: Pace;
  /** Counts what is left out. */
  readonly report: WalkReport;
}

/** What a walk did not show, and whether it came to its end. */
export interface WalkReport {
  links: number;
  special: number;
  hidden: number;
  unreadable: number;
  /** Why it stopped before its end; undefined if it did not. */
  stopped: string | undefined;
}

/** A report with nothing in it yet. */
export function walkReport(): WalkReport {
  return { links: 0, special: 0, hidden: 0, unreadable: 0, stopped: undefined };
}

interface Pending {
  readonly below: string;
  readonly depth: number;
  readonly rules: IgnoreRules;
}

/**
 * The files below a directory, one directory at a time, ignore files honoured; whoever gets a directory closes it.
 * Links are never followed. What cannot be read is counted and left out. Lets the event loop run in between; throws the
 * signal's reason, and ends early, with a word in the report, when time or entries are used up.
 */
export async function* walkTree(request: WalkRequest): AsyncGenerator<WalkedDirectory, void> {
  const { start, hold, pace, report } = request;
  const pending: Pending[] = [{ below: '', depth: 1, rules: request.rules }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const directory = openQuietly(next.below === '' ? start : join(start, next.below), hold);
    if (directory === undefined) {
      report.unreadable += 1;
      continue;
    }
    let isHandedOn = false;
    try {
      const entries = await entriesOf(directory.address, pace);
      const rules = rulesWithin(next.rules, next.below, directory.address, entries);
      if (rules === undefined) {
        report.unreadable += 1;
        continue;
      }
      const { files, directories } = await sorted(request, { ...next, rules }, entries);
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

interface Sorted {
  readonly files: readonly string[];
  /** Below the start; the first to be walked comes last. */
  readonly directories: readonly string[];
}

async function sorted(request: WalkRequest, here: Pending, entries: readonly Entry[]): Promise<Sorted> {
  const { report, pace, start } = request;
  const files: string[] = [];
  const directories: string[] = [];
  for (const { name, kind } of entries) {
    if (pace.isDue()) {
      await pace.rest();
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

function openQuietly(path: string, hold: Hold): OpenDirectory | undefined {
  try {
    return openDirectorySync(path, hold);
  } catch {
    return undefined;
  }
}

/** Opens a directory by its real path. Throws `moved` if that is not what was opened, and the system's own errors. */
function openDirectorySync(path: string, hold: Hold): OpenDirectory {
  const descriptor = openSync(
    path,
    constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0),
  );
  try {
    const address = hold === 'descriptor' ? `/proc/self/fd/${descriptor}` : path;
    if (hold === 'descriptor' ? readlinkSync(address) !== path : !isSame(descriptor, path)) throw moved();
    return { address, close: () => closeSync(descriptor) };
  } catch (thrown) {
    closeSync(descriptor);
    throw thrown;
  }
}

function isSame(descriptor: number, path: string): boolean {
  const opened = fstatSync(descriptor);
  const now = statSync(path);
  return realpathSync(path) === path && opened.dev === now.dev && opened.ino === now.ino;
}

/** The entries of a directory in the order of their names, read in small steps. Throws the signal's reason. */
export async function entriesOf(address: string, pace: Pace): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  const directory = opendirSync(address, { bufferSize: 256 });
  try {
    for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
      entries.push({ name: entry.name, kind: kindOf(entry) });
      pace.count();
      if (pace.isDue()) await pace.rest();
      if (pace.exhausted() !== undefined) break;
    }
  } finally {
    directory.closeSync();
  }
  return entries.sort((left, right) => (left.name < right.name ? -1 : 1));
}

function kindOf(entry: Dirent): Entry['kind'] {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'directory';
  return entry.isSymbolicLink() ? 'link' : 'other';
}

/** How many bytes a file has, links not followed; undefined if that cannot be told. */
export function sizeOf(address: string): number | undefined {
  return lstatSync(address, { throwIfNoEntry: false })?.size;
}
