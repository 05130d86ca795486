import { basename, dirname, sep } from 'node:path';
import { AppError } from '../../core/error.ts';
import type { Draft } from '../../core/tool.ts';
import {
  type DirectoryHandle,
  detectHandleMode,
  openChildDirectory,
  openDirectoryHandle,
} from '../../platform/files/directory-handle.ts';
import type { HandleMode } from '../../platform/files/directory-sync.ts';
import { type OpenedFile, openRegularFile, removeFileIn, writeAtomicIn } from '../../platform/files/regular-file.ts';
import { sha256 } from '../../platform/runtime/native.ts';
import { errorCode } from '../../platform/runtime/system.ts';
import type { Buffers } from './buffers.ts';
import { createFence, type Fence, type FenceOptions, type Place, withFileName } from './fence.ts';
import { breakLongLines } from './line-window.ts';

/** Records every change before it is made, with all that is needed to undo it. */
export interface Journal {
  /**
   * `bytes` is undefined if there was no such file; `after` is the new content; `missing` is how many steps of the path
   * will be created. If it throws, the change is not made.
   */
  record(path: string, bytes: Uint8Array | undefined, mode: number, after: Uint8Array, missing: number): Promise<void>;
}

type StoreText = (text: string) => Promise<string | undefined>;

interface Outputs {
  readonly save: StoreText;
  has(path: string): boolean;
  close(): Promise<void>;
}

export interface WorkspaceOptions extends FenceOptions {
  readonly journal: Journal;
  readonly outputs?: Outputs;
  /** The editor that has the files open, if there is one. */
  readonly buffers?: Buffers;
  readonly handleMode?: HandleMode;
}

interface FileContent {
  readonly bytes: Uint8Array;
  readonly mode: number;
  readonly names: number;
}

export interface ShownLines {
  readonly first: number;
  /** Inclusive; less than `first` if none was shown in full. */
  readonly last: number;
  readonly total: number;
}

/** Content without lines, such as a picture, counts as shown completely. */
export const ALL_SHOWN: ShownLines = { first: 1, last: 0, total: 0 };

/** How much must have been read before a change: all of it to replace a file. */
type Extent = 'whole' | 'part';

interface Restoration {
  readonly bytes: Uint8Array | undefined;
  readonly mode: number;
  /** As a fingerprint; undefined: the file must not exist. */
  readonly expected: string | undefined;
}

/** A file that may hold secrets, by identity: another file that takes its name is not the same. */
export interface Secret {
  readonly path: string;
  readonly identity: string;
}

/** The only way tools get at files. Every method throws AppError `usage` for what the fence refuses. */
export interface Workspace extends Fence {
  readonly handleMode: HandleMode;
  /** The file at a path, if it exists and a person must permit reading it, in every mode. */
  findSecretAt(path: string): Promise<Secret | undefined>;
  /** Allows the next read of that file, and only that one. */
  permit(secret: Secret): void;
  /** Allows the next change of a guarded file, by its real path: a person was asked about it. */
  permitChange(path: string): void;
  /**
   * Stores a text, its long lines broken, with `store` or until the process ends, readable through `open` only; returns
   * its path, or undefined if it cannot be stored.
   */
  keep(text: string, store?: StoreText): Promise<string | undefined>;
  /** The same for what a web page or an MCP server says; what is read of it is marked as data. */
  keepUntrusted(text: string): Promise<string | undefined>;
  /** Lets `open` read these files, which must be texts that gmn stored. */
  allowStored(paths: readonly string[]): void;
  /** Opens a file or a stored text; the caller closes it. */
  open(path: string): Promise<{ readonly place: Place; readonly file: OpenedFile }>;
  /** The directory must not be sensitive; the caller closes it. */
  openDirectory(path: string): Promise<{ readonly place: Place; readonly directory: DirectoryHandle }>;
  /** Records what the model was shown of a file with these bytes. Adjacent parts add up. */
  remember(place: Place, bytes: Uint8Array, shown: ShownLines): void;
  /**
   * The content of a file that may be changed: there is none, or the model has read these exact bytes, whole or in
   * part. With a draft, the content after the drafted changes.
   */
  current(path: string, extent: Extent, draft?: Draft): Promise<{ readonly place: Place; readonly old?: Uint8Array }>;
  /**
   * Writes a file whose `current` content is still the same, after recording it in the journal. Returns how many other
   * hard links the file had: links may lead out of the workspace, so they keep the old content.
   */
  write(path: string, bytes: Uint8Array): Promise<{ readonly cutLinks: number }>;
  /** Undoes a change, if nobody has made another since. Not recorded in the journal. */
  restore(path: string, change: Restoration): Promise<void>;
  /** Removes the texts that were kept for the model. Without it they are removed when the process ends. */
  close(): Promise<void>;
}

export const MAX_FILE_BYTES = 20_000_000;

export async function openWorkspace(options: WorkspaceOptions): Promise<Workspace> {
  const { handleMode = detectHandleMode(), journal, outputs = NO_OUTPUTS, buffers = {} } = options;
  const fence = await createFence(options);
  const state: WorkspaceState = { fence, handleMode, seen: new Map(), journal, buffers, approved: new Set() };
  const permitted = new Map<string, string>();
  const untrusted = new Set<string | undefined>();
  const stored = new Set<string>();
  const keep: Workspace['keep'] = async (text, store) => {
    const path = await (store ?? outputs.save)(breakLongLines(text));
    if (path !== undefined && store !== undefined) stored.add(path);
    return path;
  };
  return {
    ...fence,
    handleMode,
    findSecretAt: (path) => findSecretAt(state, path),
    permit: ({ path, identity }) => void permitted.set(path, identity),
    permitChange: (path) => void state.approved.add(path),
    keep,
    close: outputs.close,
    keepUntrusted: async (text) => {
      const path = await keep(text);
      untrusted.add(path);
      return path;
    },
    allowStored: (paths) => paths.forEach((path) => void stored.add(path)),
    open: async (path) => {
      // Older tool output, which a compaction has stored, may be from a web page or an MCP server.
      const isUntrusted = untrusted.has(path) || stored.has(path);
      const isStored = stored.has(path) || outputs.has(path);
      // The path of a stored text is one we made ourselves, so there is nothing to check.
      const stays = { path, name: path, missing: 0, isSensitive: false, isUntrusted };
      if (isStored) return { place: stays, file: await openPlace(state, stays) };
      const place = await fence.place(path, 'read');
      if (!place.isSensitive) return { place, file: await readThrough(state, place, await openPlace(state, place)) };
      const identity = permitted.get(place.path);
      permitted.delete(place.path);
      if (identity === undefined) throw sensitiveError(place);
      return { place, file: await readThrough(state, place, await openIdentical(state, place, identity)) };
    },
    openDirectory: async (path) => {
      const place = await fence.place(path, 'read');
      if (place.isSensitive) throw sensitiveError(place);
      return {
        place,
        directory: await withFileName(place.name, () =>
          openDirectoryHandle(place.path, handleMode).catch(rethrowNotDirectory),
        ),
      };
    },
    remember: (place, bytes, shown) => {
      const print = sha256(bytes);
      state.seen.set(place.path, addShown(state.seen.get(place.path), print, shown));
    },
    current: async (path, extent, draft) => {
      const { place, old } = await readCurrent(state, path, extent);
      const bytes = draft?.get(place.path) ?? old?.bytes;
      return { place, old: bytes };
    },
    write: (path, bytes) => writeChange(state, path, bytes),
    restore: (path, change) => restoreFile(state, path, change),
  };
}

const NO_OUTPUTS: Outputs = { save: async () => undefined, has: () => false, close: async () => {} };

interface WorkspaceState {
  readonly fence: Fence;
  readonly handleMode: HandleMode;
  readonly seen: Map<string, SeenFile>;
  readonly journal: Journal;
  readonly buffers: Buffers;
  /** Guarded files whose next change a person was asked about. */
  readonly approved: Set<string>;
}

interface SeenFile {
  readonly print: string;
  /** How many lines from the first on were shown without a gap. */
  readonly lines: number;
  readonly isWhole: boolean;
}

function addShown(before: SeenFile | undefined, print: string, { first, last, total }: ShownLines): SeenFile {
  const known = before?.print === print ? before : { lines: 0, isWhole: false };
  const lines = first <= known.lines + 1 ? Math.max(known.lines, last) : known.lines;
  return { print, lines, isWhole: known.isWhole || lines >= total };
}

function rethrowNotDirectory(thrown: unknown): never {
  if (errorCode(thrown) !== 'ENOTDIR') throw thrown;
  throw new AppError('usage', 'it is a file, not a directory', {
    hint: 'Read it with read_file, or name the directory it is in.',
  });
}

async function openPlace({ handleMode }: WorkspaceState, place: Place): Promise<OpenedFile> {
  return withFileName(place.name, async () => {
    const directory = await openDirectoryHandle(dirname(place.path), handleMode);
    try {
      const file = await openRegularFile(directory, basename(place.path));
      if (file === undefined)
        throw new AppError('usage', 'there is no such file', { hint: 'Look with list_directory or glob.' });
      return file;
    } finally {
      await directory.close();
    }
  });
}

/** The same file with what the editor has of it. The caller closes it. */
async function readThrough({ buffers }: WorkspaceState, place: Place, file: OpenedFile): Promise<OpenedFile> {
  if (buffers.read === undefined || file.size > MAX_FILE_BYTES) return file;
  try {
    const bytes = await buffers.read(place.path, await file.read(0, file.size));
    if (bytes === undefined) return file;
    const read: OpenedFile['read'] = async (position, length) => bytes.subarray(position, position + length);
    return { ...file, size: bytes.length, read };
  } catch (thrown) {
    await file.close();
    throw thrown;
  }
}

async function findSecretAt(state: WorkspaceState, path: string): Promise<Secret | undefined> {
  try {
    const place = await state.fence.place(path, 'read');
    if (!place.isSensitive) return undefined;
    const file = await openPlace(state, place);
    await file.close();
    return { path: place.path, identity: file.identity };
  } catch {
    // What the fence or the system refuses now is refused again when the tool reads it.
    return undefined;
  }
}

async function openIdentical(state: WorkspaceState, place: Place, identity: string): Promise<OpenedFile> {
  const file = await openPlace(state, place);
  if (file.identity === identity) return file;
  await file.close();
  throw sensitiveError(place);
}

interface Current {
  readonly place: Place;
  readonly old?: FileContent & { readonly version: string };
}

async function readCurrent(state: WorkspaceState, path: string, extent: Extent): Promise<Current> {
  const place = await state.fence.place(path, 'write');
  if (place.missing > 0) return { place };
  const old = await readContent(state, place);
  const seen = state.seen.get(place.path);
  if (seen === undefined) throw unreadError(place, 'it exists and was not read in this run');
  if (seen.print !== sha256(old.bytes)) throw unreadError(place, 'it was changed since it was read');
  if (extent === 'whole' && !seen.isWhole) throw partlyReadError(place);
  if ((old.mode & 0o6000) !== 0) throw privilegedError(place);
  return { place, old };
}

async function readContent(state: WorkspaceState, place: Place): Promise<FileContent & { readonly version: string }> {
  const file = await openPlace(state, place);
  try {
    if (file.size > MAX_FILE_BYTES) throw tooLargeToChangeError(place);
    // One byte more, to notice that it is growing.
    const onDisk = await withFileName(place.name, () => file.read(0, file.size + 1));
    const bytes = (await state.buffers.read?.(place.path, onDisk)) ?? onDisk;
    return { bytes, mode: file.mode, names: file.names, version: file.version };
  } finally {
    await file.close();
  }
}

async function writeChange(
  state: WorkspaceState,
  path: string,
  bytes: Uint8Array,
): Promise<{ readonly cutLinks: number }> {
  const { place, old } = await readCurrent(state, path, 'part');
  if (bytes.length > MAX_FILE_BYTES) throw tooLargeToWriteError(place);
  if ((await state.fence.isGuarded(place.path)) && !state.approved.delete(place.path)) throw guardedError(place);
  await changeInParent(state, place, async (directory, name) => {
    await state.journal.record(place.path, old?.bytes, old?.mode ?? 0, bytes, place.missing);
    return putBytes(state, place, { directory, name, bytes, old, mode: old?.mode });
  });
  // An edit reveals nothing new of the file, and moves its lines.
  const isWhole = old === undefined || state.seen.get(place.path)?.isWhole === true;
  state.seen.set(place.path, { print: sha256(bytes), lines: 0, isWhole });
  return { cutLinks: (old?.names ?? 1) - 1 };
}

async function restoreFile(state: WorkspaceState, path: string, { bytes, mode, expected }: Restoration): Promise<void> {
  const place = await state.fence.place(path, 'write');
  const now = place.missing > 0 ? undefined : await readContent(state, place);
  if ((now && sha256(now.bytes)) !== expected) throw changedSinceError(place);
  await changeInParent(state, place, (directory, name) => {
    if (bytes !== undefined) return putBytes(state, place, { directory, name, bytes, old: now, mode });
    return removeFileIn(directory, name, now?.version);
  });
  state.seen.delete(place.path);
}

interface NewContent {
  readonly directory: DirectoryHandle;
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly old: Current['old'];
  readonly mode: number | undefined;
}

/** Through the editor, if it can write exactly these bytes. One that writes in place would also change other hard links. */
async function putBytes(
  { buffers }: WorkspaceState,
  { path }: Place,
  { directory, name, bytes, old, mode }: NewContent,
): Promise<'written' | 'changed'> {
  const replace = (): Promise<'written' | 'changed'> => writeAtomicIn(directory, name, { bytes, old, mode });
  if (buffers.write === undefined || (old?.names ?? 1) > 1) return replace();
  const file = await openRegularFile(directory, name);
  await file?.close();
  if (file?.version !== old?.version) return 'changed';
  return (await buffers.write(path, bytes)) ? 'written' : replace();
}

async function changeInParent(
  { handleMode }: WorkspaceState,
  place: Place,
  change: (directory: DirectoryHandle, name: string) => Promise<'written' | 'removed' | 'changed'>,
): Promise<void> {
  const outcome = await withFileName(place.name, async () => {
    const steps = place.path.split(sep).slice(-Math.max(place.missing, 1));
    const start = steps.reduce((path) => dirname(path), place.path);
    let directory = await openDirectoryHandle(start, handleMode);
    try {
      for (const step of steps.slice(0, -1)) {
        const parent = directory;
        directory = await openChildDirectory(parent, step, handleMode);
        await parent.close();
      }
      return await change(directory, basename(place.path));
    } finally {
      await directory.close();
    }
  });
  if (outcome === 'changed') throw unreadError(place, 'another program changed it at the same moment');
}

/** It has become one since the call was decided about, or nobody decides here. */
function guardedError({ name }: Place): AppError {
  return new AppError('usage', `${name} was not written: it instructs models or is run by other programs`, {
    hint: 'A person must be asked about each change of it. Ask the user to make this one.',
  });
}

function sensitiveError({ name }: Place): AppError {
  return new AppError('usage', `${name} may hold secrets and was not read`, {
    hint: 'Only the user can allow that. Continue without it, or ask the user for what you need to know.',
  });
}

function unreadError({ name }: Place, why: string): AppError {
  return new AppError('usage', `${name} was not written: ${why}`, {
    hint: 'Read it with read_file, then decide again what to write.',
  });
}

function partlyReadError({ name }: Place): AppError {
  return new AppError('usage', `${name} was not written: only a part of it was read`, {
    hint: 'Change that part with edit_file, or read all of it first.',
  });
}

function tooLargeToChangeError({ name }: Place): AppError {
  return new AppError('usage', `${name} is larger than 20 MB and is not changed by tools`, {
    hint: 'Tell the user what to change there.',
  });
}

export function tooLargeToWriteError({ name }: Place): AppError {
  return new AppError('usage', `${name} would be larger than 20 MB and was not written`, {
    hint: 'Write less, or tell the user what to put there.',
  });
}

function changedSinceError({ name }: Place): AppError {
  return new AppError('usage', `${name} was changed since, and was left as it is`, {
    hint: 'Look at it, and undo the change by hand.',
  });
}

/** A setuid or setgid file: changing it would change what runs with other rights. */
function privilegedError({ name }: Place): AppError {
  return new AppError('usage', `${name} runs with the rights of its owner and is not changed`, {
    hint: 'Tell the user what to change there.',
  });
}
