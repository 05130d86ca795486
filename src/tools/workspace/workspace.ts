import { basename, dirname, sep } from 'node:path';
import { AppError } from '../../core/error.ts';
import type { Draft } from '../../core/tool.ts';
import {
  type HeldDirectory,
  type Hold,
  holdChild,
  holdDirectory,
  holdOfSystem,
} from '../../platform/files/held-directory.ts';
import { fingerprint, type OpenedFile, openRegular, removeFrom, replaceIn } from '../../platform/files/held-file.ts';
import { errnoOf } from '../../platform/runtime/system.ts';
import { type Fence, type FenceOptions, fenceAround, named, type Place } from './fence.ts';
import { shortLines } from './line-window.ts';

/** Is told of every change before it is made, with all that is needed to take it back. */
export interface Journal {
  /**
   * `bytes` is undefined if there was no such file; `after` is what the file is about to hold, and `missing` how many steps
   * of its path are made for it. May throw: no change then.
   */
  before(path: string, bytes: Uint8Array | undefined, mode: number, after: Uint8Array, missing: number): Promise<void>;
}

/** Keeps texts that are too long for an answer, outside the workspace; see `OutputShelf` in platform. */
interface Outputs {
  keep(text: string): Promise<string | undefined>;
  /** Whether this very path is of a text that was kept by this run. */
  holds(path: string): boolean;
}

export interface WorkspaceOptions extends FenceOptions {
  readonly journal: Journal;
  /** Absent: nothing is kept. */
  readonly outputs?: Outputs;
  /** How directories are held fast; the best way this system has unless given. */
  readonly hold?: Hold;
}

interface FileContent {
  readonly bytes: Uint8Array;
  /** The permission bits. */
  readonly mode: number;
  /** How many names it has. */
  readonly names: number;
}

/** Lines that were shown as they are, none of them cut; counted from 1. */
export interface ShownLines {
  readonly first: number;
  /** Included; before `first` if none was shown in full. */
  readonly last: number;
  /** How many there are. */
  readonly total: number;
}

/** Shown as a whole: a picture, or whatever has no lines. */
export const ALL_SHOWN: ShownLines = { first: 1, last: 0, total: 0 };

/** What must have been read before a change: to replace a file, all of it. */
type Extent = 'whole' | 'part';

/** What it takes to take a change back. */
interface Restoration {
  /** What was there; undefined: nothing. */
  readonly bytes: Uint8Array | undefined;
  readonly mode: number;
  /** The fingerprint of what is there now; undefined: nothing. */
  readonly expected: string | undefined;
}

/** A file that may hold secrets: this very one, not whatever has its name by then. */
export interface Secret {
  /** Free of links. */
  readonly path: string;
  readonly identity: string;
}

/** The only way tools get at files. Every method throws AppError `usage` for what the fence does not let through. */
export interface Workspace extends Fence {
  readonly hold: Hold;
  /** The file a path leads to, if it needs a person's permission to be read, in every mode, and can be read at all. */
  secretAt(path: string): Promise<Secret | undefined>;
  /** The person said yes: the next reading of that file, and only that one, is let through. */
  permit(secret: Secret): void;
  /** Keeps a text, its longest lines broken, for `open` and nothing else; says under which path, undefined: it cannot. */
  keep(text: string): Promise<string | undefined>;
  /** Opens a file, or a text that was kept, for reading; whoever calls closes it. */
  open(path: string): Promise<{ readonly place: Place; readonly file: OpenedFile }>;
  /** Opens a directory that is not sensitive; whoever calls closes it. */
  openDirectory(path: string): Promise<{ readonly place: Place; readonly directory: HeldDirectory }>;
  /** Remembers what was shown to the model of a file that holds these bytes. Parts that follow each other add up. */
  remember(place: Place, bytes: Uint8Array, shown: ShownLines): void;
  /**
   * What a file holds now, if it may be changed: none is there, or the model has read these very bytes, or a part. With a
   * draft, what the file would hold by then.
   */
  current(path: string, extent: Extent, draft?: Draft): Promise<{ readonly place: Place; readonly old?: Uint8Array }>;
  /**
   * Writes a file whose `current` content is still the same; the journal is told first. Says how many other names the file
   * had: hard links may lead out of the workspace, so they keep what was there.
   */
  write(path: string, bytes: Uint8Array): Promise<{ readonly cutLinks: number }>;
  /** Takes a change back, if nobody has made another since. The journal is not told. */
  restore(path: string, change: Restoration): Promise<void>;
}

/** More than this is neither edited nor replaced. */
export const MAX_FILE_BYTES = 20_000_000;

/** Opens the directories the tools may use. Throws AppError `usage` if one is not there. */
export async function openWorkspace(options: WorkspaceOptions): Promise<Workspace> {
  const { hold = holdOfSystem(), journal, outputs = NO_OUTPUTS } = options;
  const fence = await fenceAround(options);
  const disk: Disk = { fence, hold, seen: new Map(), journal };
  /** The identities of files, by their paths. */
  const permitted = new Map<string, string>();
  return {
    ...fence,
    hold,
    secretAt: (path) => secretAt(disk, path),
    permit: ({ path, identity }) => void permitted.set(path, identity),
    keep: (text) => outputs.keep(shortLines(text)),
    open: async (path) => {
      const place = outputs.holds(path) ? keptPlace(path) : await fence.place(path, 'read');
      if (!place.isSensitive) return { place, file: await openPlace(disk, place) };
      const identity = permitted.get(place.path);
      permitted.delete(place.path);
      if (identity === undefined) throw sensitive(place);
      return { place, file: await openVery(disk, place, identity) };
    },
    openDirectory: async (path) => {
      const place = await fence.place(path, 'read');
      if (place.isSensitive) throw sensitive(place);
      return { place, directory: await named(place.name, () => holdDirectory(place.path, hold).catch(notADirectory)) };
    },
    remember: (place, bytes, shown) => {
      const print = fingerprint(bytes);
      disk.seen.set(place.path, seenWith(disk.seen.get(place.path), print, shown));
    },
    current: async (path, extent, draft) => {
      const { place, old } = await currentOf(disk, path, extent);
      const bytes = draft?.get(place.path) ?? old?.bytes;
      return { place, ...(bytes === undefined ? {} : { old: bytes }) };
    },
    write: (path, bytes) => writeTo(disk, path, bytes),
    restore: (path, change) => restoreTo(disk, path, change),
  };
}

const NO_OUTPUTS: Outputs = { keep: async () => undefined, holds: () => false };

/** The path is ours to the letter, so there is nothing in it to be judged. */
function keptPlace(path: string): Place {
  return { path, name: path, missing: 0, isSensitive: false };
}

interface Disk {
  readonly fence: Fence;
  readonly hold: Hold;
  /** What the model has seen of a file, by real path. */
  readonly seen: Map<string, Seen>;
  readonly journal: Journal;
}

interface Seen {
  readonly print: string;
  /** How many lines from the first on were shown without a gap. */
  readonly lines: number;
  readonly isWhole: boolean;
}

function seenWith(before: Seen | undefined, print: string, { first, last, total }: ShownLines): Seen {
  const known = before?.print === print ? before : { lines: 0, isWhole: false };
  const lines = first <= known.lines + 1 ? Math.max(known.lines, last) : known.lines;
  return { print, lines, isWhole: known.isWhole || lines >= total };
}

function notADirectory(thrown: unknown): never {
  if (errnoOf(thrown) !== 'ENOTDIR') throw thrown;
  throw new AppError('usage', 'it is a file, not a directory', {
    hint: 'Read it with read_file, or name the directory it is in.',
  });
}

async function openPlace({ hold }: Disk, place: Place): Promise<OpenedFile> {
  return named(place.name, async () => {
    const directory = await holdDirectory(dirname(place.path), hold);
    try {
      const file = await openRegular(directory, basename(place.path));
      if (file === undefined) throw absent();
      return file;
    } finally {
      await directory.close();
    }
  });
}

async function secretAt(disk: Disk, path: string): Promise<Secret | undefined> {
  try {
    const place = await disk.fence.place(path, 'read');
    if (!place.isSensitive) return undefined;
    const file = await openPlace(disk, place);
    await file.close();
    return { path: place.path, identity: file.identity };
  } catch {
    // What the fence or the system refuses, they refuse again when it is read.
    return undefined;
  }
}

/** Opens the file of that identity, and no other that has come in its place. */
async function openVery(disk: Disk, place: Place, identity: string): Promise<OpenedFile> {
  const file = await openPlace(disk, place);
  if (file.identity === identity) return file;
  await file.close();
  throw sensitive(place);
}

interface Current {
  readonly place: Place;
  readonly old?: FileContent & { readonly version: string };
}

async function currentOf(disk: Disk, path: string, extent: Extent): Promise<Current> {
  const place = await disk.fence.place(path, 'write');
  if (place.missing > 0) return { place };
  const old = await contentOf(disk, place);
  const seen = disk.seen.get(place.path);
  if (seen === undefined) throw unread(place, 'it exists and was not read in this run');
  if (seen.print !== fingerprint(old.bytes)) throw unread(place, 'it was changed since it was read');
  if (extent === 'whole' && !seen.isWhole) throw partlyRead(place);
  if ((old.mode & 0o6000) !== 0) {
    throw privileged(place);
  }
  return { place, old };
}

async function contentOf(disk: Disk, place: Place): Promise<FileContent & { readonly version: string }> {
  const file = await openPlace(disk, place);
  try {
    if (file.size > MAX_FILE_BYTES) throw tooLarge(place);
    // One byte more, to see whether it is growing.
    const bytes = await named(place.name, () => file.read(0, file.size + 1));
    return { bytes, mode: file.mode, names: file.names, version: file.version };
  } finally {
    await file.close();
  }
}

async function writeTo(disk: Disk, path: string, bytes: Uint8Array): Promise<{ readonly cutLinks: number }> {
  const { place, old } = await currentOf(disk, path, 'part');
  if (bytes.length > MAX_FILE_BYTES) throw wouldBeTooLarge(place);
  await inParent(disk, place, async (directory, name) => {
    await disk.journal.before(place.path, old?.bytes, old?.mode ?? 0, bytes, place.missing);
    return replaceIn(directory, name, { bytes, ...(old === undefined ? {} : { old, mode: old.mode }) });
  });
  // An edit shows no more of a file than was seen before it; its lines have moved.
  const isWhole = old === undefined || disk.seen.get(place.path)?.isWhole === true;
  disk.seen.set(place.path, { print: fingerprint(bytes), lines: 0, isWhole });
  return { cutLinks: (old?.names ?? 1) - 1 };
}

async function restoreTo(disk: Disk, path: string, { bytes, mode, expected }: Restoration): Promise<void> {
  const place = await disk.fence.place(path, 'write');
  const now = place.missing > 0 ? undefined : await contentOf(disk, place);
  if ((now && fingerprint(now.bytes)) !== expected) throw changedSince(place);
  await inParent(disk, place, (directory, name) => {
    if (bytes !== undefined) return replaceIn(directory, name, { bytes, ...(now && { old: now }), mode });
    return removeFrom(directory, name, now?.version);
  });
  disk.seen.delete(place.path);
}

/** Changes a file in its directory, which is made if it is not there; every step of it is proven. */
async function inParent(
  { hold }: Disk,
  place: Place,
  change: (directory: HeldDirectory, name: string) => Promise<'written' | 'removed' | 'changed'>,
): Promise<void> {
  const outcome = await named(place.name, async () => {
    const steps = place.path.split(sep).slice(-Math.max(place.missing, 1));
    const start = steps.reduce((path) => dirname(path), place.path);
    let directory = await holdDirectory(start, hold);
    try {
      for (const step of steps.slice(0, -1)) {
        const parent = directory;
        directory = await holdChild(parent, step, hold);
        await parent.close();
      }
      return await change(directory, basename(place.path));
    } finally {
      await directory.close();
    }
  });
  if (outcome === 'changed') throw unread(place, 'somebody else wrote it at this moment');
}

/** What may hold secrets is read only after a person said yes. */
function sensitive({ name }: Place): AppError {
  return new AppError('usage', `${name} may hold secrets and was not read`, {
    hint: 'Only the user can allow that. Go on without it, or ask the user for what you need to know.',
  });
}

/** There is nothing to open. */
function absent(): AppError {
  return new AppError('usage', 'there is no such file', { hint: 'Look with list_directory or glob.' });
}

/** A file that exists is written only after it was read as it is. */
function unread({ name }: Place, why: string): AppError {
  return new AppError('usage', `${name} was not written: ${why}`, {
    hint: 'Read it with read_file, then decide again what to write.',
  });
}

/** A file is replaced only after all of it was read. */
function partlyRead({ name }: Place): AppError {
  return new AppError('usage', `${name} was not written: only a part of it was read`, {
    hint: 'Change that part with edit_file, or read all of it first.',
  });
}

/** Too large for tools to change. */
function tooLarge({ name }: Place): AppError {
  return new AppError('usage', `${name} is larger than 20 MB and is not changed by tools`, {
    hint: 'Tell the user what to change there.',
  });
}

/** What it is to hold is too much. */
export function wouldBeTooLarge({ name }: Place): AppError {
  return new AppError('usage', `${name} would be larger than 20 MB and was not written`, {
    hint: 'Write less, or tell the user what to put there.',
  });
}

/** Somebody else has changed what was to be taken back. */
function changedSince({ name }: Place): AppError {
  return new AppError('usage', `${name} was changed since, and was left as it is`, {
    hint: 'Look at it, and take the change back by hand.',
  });
}

/** Changing what runs as somebody else would be more than changing a file. */
function privileged({ name }: Place): AppError {
  return new AppError('usage', `${name} runs with the rights of its owner and is not changed`, {
    hint: 'Tell the user what to change there.',
  });
}
