import { constants } from 'node:fs';
import {
  access,
  copyFile,
  type FileHandle,
  link,
  lstat,
  open,
  readdir,
  realpath,
  rename,
  rmdir,
  stat,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { AppError } from '../../core/error.ts';
import { errorCode, errorReason } from '../runtime/system.ts';
import type { DirectoryHandle } from './directory-handle.ts';
import { entryExists, isOurs, isTemporary, makeDirectories, temporaryPath, toPosixCode } from './path.ts';
import { isWritable, toVersion } from './read.ts';
import { nextReplacement, readModifiedTime } from './write-sync.ts';
import { resolveWritingTarget } from './writing-target.ts';

type Data = string | Uint8Array | Iterable<string | Uint8Array> | AsyncIterable<string>;

interface CreateOptions {
  /** The permission bits; those that the umask leaves of 0666 if absent. */
  readonly mode?: number;
  /** Whether the bytes are on disk (fsync) when this resolves. True if absent. */
  readonly isSynced?: boolean;
  readonly prepare?: (handle: FileHandle) => Promise<void>;
}

/** Creates a file; `exists`: something has that name, and is left alone. Throws system errors; nothing is left then. */
export async function createExclusive(
  path: string,
  data: Data,
  { mode, isSynced = true, prepare }: CreateOptions = {},
): Promise<'created' | 'exists'> {
  let handle: FileHandle;
  try {
    handle = await open(path, 'wx', mode === undefined ? 0o666 : 0o600);
  } catch (thrown) {
    if (errorCode(thrown) === 'EEXIST') return 'exists';
    throw thrown;
  }
  try {
    const pieces = typeof data === 'string' || data instanceof Uint8Array ? [data] : data;
    // writeFile on a handle continues at the current position.
    for await (const piece of pieces) await handle.writeFile(piece);
    await prepare?.(handle);
    // The umask takes bits from the mode given to open, and so may a change of owner.
    if (mode !== undefined) await handle.chmod(mode);
    if (isSynced) await handle.sync();
    return 'created';
  } catch (thrown) {
    await unlink(path).catch(() => {});
    throw thrown;
  } finally {
    await handle.close();
  }
}

/** `place` gives the temporary file its name, by a rename or a link. Nothing is left of it either way. */
export async function writeBeside<T>(
  path: string,
  data: Data,
  options: CreateOptions,
  place: (temporary: string) => Promise<T>,
): Promise<T> {
  const temporary = temporaryPath(path);
  if ((await createExclusive(temporary, data, options)) === 'exists') throw new Error(`${temporary} is in the way`);
  try {
    return await place(temporary);
  } finally {
    // Fails after a rename, as nothing is left to remove.
    await unlink(temporary).catch(() => {});
  }
}

/** As `createExclusive`, and no reader sees a part of it, where the disk has hard links. */
export async function createAtomic(
  path: string,
  data: string | Uint8Array,
  options: CreateOptions = {},
): Promise<'created' | 'exists'> {
  return writeBeside(path, data, options, async (temporary) => {
    try {
      await link(temporary, path);
      return 'created';
    } catch (thrown) {
      return errorCode(thrown) === 'EEXIST' ? 'exists' : createExclusive(path, data, options);
    }
  });
}

/** On disk when this resolves. Throws system errors. */
export async function writeDurably(path: string, data: Data): Promise<void> {
  await writeBeside(path, data, { mode: 0o600 }, (temporary) => replaceFile(temporary, path));
}

interface ReplaceOptions {
  readonly mode?: number;
  readonly uid?: number;
  readonly expected?: string;
}

/**
 * Replaces a file durably, so that every reader sees the old bytes or the new ones. A link stays a link. `changed`: it is
 * no longer the version `expected`, and was left alone; check and rename are two steps, so another writer may slip in
 * between. Throws AppError `config` if it cannot be written or belongs to someone else; the old file is then untouched.
 */
export async function writeAtomic(
  path: string,
  data: Data,
  { mode, expected, uid = process.getuid?.() }: ReplaceOptions = {},
): Promise<'written' | 'changed'> {
  try {
    const target = await realpath(path).catch(() => path);
    const before = await stat(target, { bigint: true }).catch(() => undefined);
    if (before !== undefined && !isOurs(before.uid, uid)) throw ownerError(path);
    const options = { mode: mode ?? (before === undefined ? 0o600 : Number(before.mode) & 0o777) };
    return await writeBeside(target, data, options, async (temporary) => {
      if (expected !== undefined) {
        const now = await stat(target, { bigint: true }).catch(() => undefined);
        if (now === undefined || toVersion(now) !== expected) return 'changed';
      }
      await replaceFile(temporary, target);
      await syncDirectory(dirname(target));
      return 'written';
    });
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw createWriteError('config', { name: path, cause, hint: WRITE_HINT });
  }
}

export const WRITE_HINT = 'Check the free space and the permissions there.';

/** What is wrong with the place, where that is what failed; `hint` is for everything else. */
export function createWriteError(
  fault: 'config' | 'usage',
  { name, cause, hint }: { readonly name: string; readonly cause: unknown; readonly hint: string },
): AppError {
  const [why, advice] = MISPLACED.get(toPosixCode(cause)) ?? [errorReason(cause), hint];
  return new AppError(fault, `cannot write ${name}: ${why}`, { cause, hint: advice });
}

const MISPLACED: ReadonlyMap<string, readonly [why: string, advice: string]> = new Map([
  ['ENOENT', ['the directory does not exist', 'Create it, or name a file in a directory that exists.']],
  ['ENOTDIR', ['a file is where a directory should be', 'Name a file in a directory that exists.']],
]);

function ownerError(path: string): AppError {
  return new AppError('config', `cannot write ${path}: it belongs to another user`, {
    hint: 'Remove it, or run chown on it, and try again.',
  });
}

export async function makePrivateDirectory(path: string): Promise<void> {
  try {
    makeDirectories(path);
  } catch (cause) {
    throw new AppError('config', `cannot create ${path}: ${errorReason(cause)}`, {
      cause,
      hint: 'Check the permissions there, or name another place with GMN_HOME.',
    });
  }
}

/** Moves a file, over any other of the new name; nothing if it is missing. Throws AppError `config`. */
export async function moveFile(from: string, to: string): Promise<void> {
  try {
    await replaceFile(from, to).catch(async (thrown: unknown) => {
      if (errorCode(thrown) !== 'EXDEV') throw thrown;
      await copyFile(from, to);
      await unlink(from);
    });
  } catch (cause) {
    if (errorCode(cause) === 'ENOENT') return;
    throw new AppError('config', `cannot move ${from} to ${to}: ${errorReason(cause)}`, {
      cause,
      hint: 'Check the permissions there.',
    });
  }
}

export async function removeFile(path: string): Promise<void> {
  await unlink(path).catch(ignoreAbsent);
}

/** Moves a broken file to `<path>.corrupt-<time>`. Never throws. */
export async function quarantine(path: string, now: number): Promise<void> {
  const stamp = new Date(now).toISOString().replace(/[-:]|\.\d+/g, '');
  await rename(path, `${path}.corrupt-${stamp}`).catch(() => {});
}

/** Returns how many. Throws AppError `config` if one cannot be removed, or is another user's and was left alone. */
export async function removeFiles(
  directory: string | DirectoryHandle,
  wanted: (name: string) => boolean,
  uid = process.getuid?.(),
): Promise<number> {
  const handle = typeof directory === 'string' ? undefined : directory;
  const at = handle?.at ?? ((name: string) => join(String(directory), name));
  await handle?.verify();
  let count = 0;
  let left: string | undefined;
  for (const entry of await readdir(at('.'), { withFileTypes: true }).catch(() => [])) {
    if (!entry.isFile() || !wanted(entry.name)) continue;
    const path = join(handle?.path ?? String(directory), entry.name);
    const status = await lstat(at(entry.name), { bigint: true }).catch(() => undefined);
    if (status === undefined) continue;
    if (!isOurs(status.uid, uid)) {
      left = path;
      continue;
    }
    await unlink(at(entry.name)).catch((cause: unknown) => {
      throw new AppError('config', `cannot remove ${path}: ${errorReason(cause)}`, {
        cause,
        hint: 'Remove it by hand.',
      });
    });
    count += 1;
  }
  if (left === undefined) return count;
  throw new AppError('config', `cannot remove ${left}: it belongs to another user`, {
    hint: 'gmn does not remove it. Remove it yourself, or run chown on it.',
  });
}

/** Removes the temporary files that killed processes left in a directory before `beforeMs`. Throws AppError `config`. */
export async function removeTemporaries(directory: string, beforeMs: number): Promise<void> {
  const isOld = (name: string): boolean => (readModifiedTime(join(directory, name)) ?? 0) <= beforeMs;
  await removeFiles(directory, (name) => isTemporary(name) && isOld(name));
}

/**
 * Gives a complete file the name of another, which it replaces. Throws system errors; the other file is as before then.
 * This process must not have it open.
 */
export async function replaceFile(from: string, to: string): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await rename(from, to);
    } catch (thrown) {
      const delay = nextReplacement(attempt, thrown);
      if (delay === undefined) throw thrown;
      await new Promise((resolve) => setTimeout(resolve, delay));
    }
  }
}

/** Syncs a directory's entries to disk, where the system can. Never throws. */
export async function syncDirectory(path: string): Promise<void> {
  try {
    const handle = await open(path, constants.O_RDONLY);
    await handle.sync().finally(() => handle.close());
  } catch {
    // Not supported everywhere; the rename itself has happened.
  }
}

/** False if it is not empty. */
export async function removeEmptyDirectory(path: string): Promise<boolean> {
  return rmdir(path).then(
    () => true,
    () => false,
  );
}

/** Creates an empty private file unless it exists, and sets its modification time. Throws system errors. */
export async function touchFile(path: string, now: number): Promise<void> {
  await makePrivateDirectory(dirname(path));
  const handle = await open(path, constants.O_WRONLY | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0), 0o600);
  try {
    await handle.utimes(new Date(now), new Date(now));
  } finally {
    await handle.close();
  }
}

export interface OutputFile {
  write(content: string | Uint8Array): Promise<number>;
}

/** Checks it, and changes nothing. A file is later replaced in one step and keeps its mode. Throws AppError `usage`. */
export async function openOutputFile(name: string, cwd: string, isSynced = false): Promise<OutputFile> {
  // As /dev/null: the answer is not wanted.
  if (process.platform === 'win32' && /^nul$/i.test(name))
    return { write: async (content) => Buffer.byteLength(content) };
  try {
    const target = resolveWritingTarget(name, cwd);
    const before = await stat(target).catch(ignoreAbsent);
    if (before?.isDirectory()) throw new Error('it is a directory');
    if (before !== undefined) await access(target, constants.W_OK);
    const canReplace = isWritable(dirname(target));
    if (before === undefined && !canReplace) await access(dirname(target), constants.W_OK);
    const isReplaced = (before === undefined || before.isFile()) && canReplace;
    const mode = isReplaced ? (before?.mode ?? 0o666) : undefined;
    return { write: (content) => writeOutput(target, Buffer.from(content), { mode, isSynced, name }) };
  } catch (cause) {
    throw outputError(name, cause);
  }
}

function ignoreAbsent(thrown: unknown): undefined {
  if (errorCode(thrown) === 'ENOENT') return undefined;
  throw thrown;
}

interface OutputTarget {
  readonly mode: number | undefined;
  readonly isSynced: boolean;
  readonly name: string;
}

async function writeOutput(target: string, bytes: Buffer, { mode, isSynced, name }: OutputTarget): Promise<number> {
  try {
    // For a new file the umask applies, as with any other program.
    const options = { mode: mode === 0o666 ? undefined : mode && mode & 0o7777, isSynced };
    if (mode === undefined) await writeFile(target, bytes, { flush: isSynced });
    else await writeBeside(target, bytes, options, (temporary) => replaceFile(temporary, target));
    return bytes.length;
  } catch (cause) {
    throw outputError(name, cause);
  }
}

/** Writes all or nothing. `exists`: something has that name, and is left alone. Throws AppError `usage`. */
export async function createOutputFile(name: string, cwd: string, bytes: Uint8Array): Promise<'created' | 'exists'> {
  if (entryExists(resolve(cwd, name))) return 'exists';
  try {
    return await createExclusive(resolveWritingTarget(name, cwd), bytes, { isSynced: false });
  } catch (cause) {
    throw outputError(name, cause);
  }
}

function outputError(name: string, cause: unknown): AppError {
  if (cause instanceof AppError) return cause;
  const isFull = ['ENOSPC', 'EDQUOT', 'EFBIG'].includes(errorCode(cause));
  const hint = isFull
    ? 'Make room on that disk, or name a file on another one.'
    : 'Name a file in a directory that exists and that you may write to.';
  return createWriteError('usage', { name, cause, hint });
}
