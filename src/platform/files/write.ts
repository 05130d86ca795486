import { constants } from 'node:fs';
import {
  access,
  type FileHandle,
  lstat,
  open,
  readdir,
  realpath,
  rename,
  stat,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { AppError } from '../../core/error.ts';
import { errorCode, errorReason } from '../runtime/system.ts';
import { makeDirectories } from './path.ts';
import { createDurably, temporarySuffix } from './synced-file.ts';
import { writingTarget } from './writing-target.ts';

const MAX_BYTES = 1_000_000;

type FileState =
  | { readonly kind: 'absent' }
  /** Something is there, but not a regular file, too large, or not readable. */
  | { readonly kind: 'unreadable'; readonly why: string }
  | FileText;

export interface FileText {
  readonly kind: 'text';
  readonly text: string;
  /** The permission bits; 0 on Windows. */
  readonly mode: number;
  readonly isOurs: boolean;
  /** Changes whenever the file is written or replaced. */
  readonly version: string;
}

/**
 * The contents and state of a small file; `isOurs` if it belongs to `uid`. Follows links. Never throws or blocks on a
 * FIFO.
 */
export async function readFileState(path: string, uid = process.getuid?.()): Promise<FileState> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const status = await handle.stat({ bigint: true });
    if (!status.isFile()) return { kind: 'unreadable', why: 'it is not a regular file' };
    if (status.size > MAX_BYTES) return { kind: 'unreadable', why: 'it is larger than 1 MB' };
    const text = await handle.readFile('utf8');
    const mode = process.platform === 'win32' ? 0 : Number(status.mode) & 0o777;
    return { kind: 'text', text, mode, isOurs: isOurs(status, uid), version: toVersion(status) };
  } catch (thrown) {
    const code = errorCode(thrown);
    if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'absent' };
    return { kind: 'unreadable', why: code === 'EACCES' ? 'permission denied' : errorReason(thrown) };
  } finally {
    await handle?.close();
  }
}

type Text = string | Iterable<string>;

interface ReplaceOptions {
  /** The permission bits afterwards; those of the replaced file if absent, else 0600. */
  readonly mode?: number;
  /** Whose file may be replaced; by default this process's user. */
  readonly uid?: number;
}

/**
 * Replaces a file so that every reader sees the old bytes or the new ones. A link stays a link. Throws AppError
 * `config` if it cannot be written or belongs to someone else; the old file is then untouched.
 */
export async function writeAtomic(path: string, text: Text, options: ReplaceOptions = {}): Promise<void> {
  await writeReplacement(path, text, options);
}

/**
 * Like `writeAtomic`, but only if the file still is the version `expected`; otherwise it is left alone: `changed`.
 * Check and rename are two steps, so another writer may slip in between.
 */
export async function writeAtomicIfVersion(
  path: string,
  text: string,
  options: ReplaceOptions & { readonly expected: string },
): Promise<'written' | 'changed'> {
  return writeReplacement(path, text, options);
}

async function writeReplacement(
  path: string,
  text: Text,
  { mode, expected, uid = process.getuid?.() }: ReplaceOptions & { readonly expected?: string },
): Promise<'written' | 'changed'> {
  let temporary: string | undefined;
  try {
    const target = await realpath(path).catch(() => path);
    const before = await stat(target, { bigint: true }).catch(() => undefined);
    if (before !== undefined && !isOurs(before, uid)) throw ownerError(path);
    temporary = await writeBeside(target, text, mode ?? (before === undefined ? 0o600 : Number(before.mode) & 0o777));
    if (expected !== undefined) {
      const now = await stat(target, { bigint: true }).catch(() => undefined);
      if (now === undefined || toVersion(now) !== expected) return 'changed';
    }
    await renameOver(temporary, target);
    temporary = undefined;
    await syncDirectory(dirname(target));
    return 'written';
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw new AppError('config', `cannot write ${path}: ${errorReason(cause)}`, {
      cause,
      hint: 'Check the free space and the permissions there.',
    });
  } finally {
    if (temporary !== undefined) await unlink(temporary).catch(() => {});
  }
}

function ownerError(path: string): AppError {
  return new AppError('config', `cannot write ${path}: it belongs to another user`, {
    hint: 'Remove it, or make it yours (chown), and try again.',
  });
}

/** Creates a private directory and its parents. An existing one is left as it is. Throws AppError `config`. */
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

/** Creates a private file that must not exist yet. `failed`: it cannot be written there. Never throws. */
export async function tryCreateExclusive(path: string, text: string): Promise<'created' | 'exists' | 'failed'> {
  try {
    await makePrivateDirectory(dirname(path));
    const handle = await open(path, 'wx', 0o600);
    try {
      await handle.writeFile(text);
    } catch (thrown) {
      await unlink(path).catch(() => {});
      throw thrown;
    } finally {
      await handle.close();
    }
    return 'created';
  } catch (thrown) {
    return errorCode(thrown) === 'EEXIST' ? 'exists' : 'failed';
  }
}

/** Moves a broken file to `<path>.corrupt-<time>`. Never throws. */
export async function quarantine(path: string, now: number): Promise<void> {
  const stamp = new Date(now).toISOString().replace(/[-:]|\.\d+/g, '');
  await rename(path, `${path}.corrupt-${stamp}`).catch(() => {});
}

/**
 * Deletes the regular files of a directory whose names are `wanted`; returns how many. Throws AppError `config` if one
 * cannot be removed, or belongs to another user than `uid` and was left alone.
 */
export async function removeFiles(
  directory: string,
  wanted: (name: string) => boolean,
  uid = process.getuid?.(),
): Promise<number> {
  let count = 0;
  let left: string | undefined;
  for (const entry of await readdir(directory, { withFileTypes: true }).catch(() => [])) {
    if (!entry.isFile() || !wanted(entry.name)) continue;
    const path = join(directory, entry.name);
    const status = await lstat(path, { bigint: true }).catch(() => undefined);
    if (status === undefined) continue;
    if (!isOurs(status, uid)) {
      left = path;
      continue;
    }
    await unlink(path).catch((cause: unknown) => {
      throw new AppError('config', `cannot remove ${path}: ${errorReason(cause)}`, {
        cause,
        hint: 'Remove it by hand.',
      });
    });
    count += 1;
  }
  if (left === undefined) return count;
  throw new AppError('config', `cannot remove ${left}: it belongs to another user`, {
    hint: 'gmn leaves it alone. Remove it yourself, or make it yours (chown).',
  });
}

async function writeBeside(target: string, text: Text, mode: number): Promise<string> {
  const temporary = join(dirname(target), `.${basename(target)}.${temporarySuffix()}`);
  await createDurably(temporary, typeof text === 'string' ? [text] : text, mode);
  return temporary;
}

/** On Windows a file cannot be replaced while another process reads it, so this retries. */
async function renameOver(from: string, to: string): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await rename(from, to);
    } catch (thrown) {
      if (attempt >= 9 || !['EPERM', 'EBUSY', 'EACCES'].includes(errorCode(thrown))) throw thrown;
      await new Promise((resolve) => setTimeout(resolve, 10 * (attempt + 1)));
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

function isOurs(status: { readonly uid: bigint }, uid: number | undefined): boolean {
  return uid === undefined || Number(status.uid) === uid;
}

function toVersion(status: { ino: bigint; mtimeNs: bigint; size: bigint }): string {
  return `${status.ino}:${status.mtimeNs}:${status.size}`;
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
  /** Puts the text or the bytes there, whole or not at all; says how many bytes it has. Throws AppError `usage`. */
  write(content: string | Uint8Array): Promise<number>;
}

/**
 * Finds out whether a file can be written there, and changes nothing. One that exists will be replaced in one step and keeps
 * its permissions; a device or a pipe is written to, links are followed as `writingTarget` does. Throws AppError `usage` if
 * it cannot; `name` is what the person calls it.
 */
export async function openOutputFile(name: string, cwd: string): Promise<OutputFile> {
  try {
    const target = writingTarget(name, cwd);
    const before = await stat(target).catch(ignoreAbsent);
    if (before?.isDirectory()) throw new Error('it is a directory');
    if (before !== undefined) await access(target, constants.W_OK);
    const canReplace = await isWritable(dirname(target));
    if (before === undefined && !canReplace) await access(dirname(target), constants.W_OK);
    const isReplaced = (before === undefined || before.isFile()) && canReplace;
    const mode = isReplaced ? (before?.mode ?? 0o666) : undefined;
    return { write: (content) => writeOutput({ target, name, content, mode }) };
  } catch (cause) {
    throw outputError(name, cause);
  }
}

function ignoreAbsent(thrown: unknown): undefined {
  if (errorCode(thrown) === 'ENOENT') return undefined;
  throw thrown;
}

function isWritable(directory: string): Promise<boolean> {
  return access(directory, constants.W_OK).then(
    () => true,
    () => false,
  );
}

interface OutputWrite {
  readonly target: string;
  readonly name: string;
  readonly content: string | Uint8Array;
  /** The permissions of the file that takes its place; undefined: the one that is there is written to. */
  readonly mode: number | undefined;
}

async function writeOutput({ target, name, content, mode }: OutputWrite): Promise<number> {
  const bytes = Buffer.from(content);
  try {
    if (mode === undefined) await writeFile(target, bytes);
    else await replaceOutput(target, bytes, mode);
    return bytes.length;
  } catch (cause) {
    throw outputError(name, cause);
  }
}

async function replaceOutput(target: string, bytes: Uint8Array, mode: number): Promise<void> {
  const temporary = join(dirname(target), `.${basename(target)}.${process.pid}.tmp`);
  // For a new file the umask applies, as with any other program.
  const handle = await open(temporary, 'wx', 0o666);
  try {
    if (mode !== 0o666) await handle.chmod(mode & 0o7777);
    await handle.writeFile(bytes);
    await handle.close();
    await rename(temporary, target);
  } catch (thrown) {
    await handle.close().catch(() => {});
    await unlink(temporary).catch(() => {});
    throw thrown;
  }
}

/**
 * Writes bytes to a file that must not be there yet, whole or not at all. `exists`: something has that name, and is left as it
 * is. Throws AppError `usage`.
 */
export async function createOutputFile(path: string, name: string, bytes: Uint8Array): Promise<'created' | 'exists'> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(path, 'wx', 0o666);
    await handle.writeFile(bytes);
    return 'created';
  } catch (cause) {
    if (handle === undefined && errorCode(cause) === 'EEXIST') return 'exists';
    if (handle !== undefined) await unlink(path).catch(() => {});
    throw outputError(name, cause);
  } finally {
    await handle?.close();
  }
}

function outputError(name: string, cause: unknown): AppError {
  return new AppError('usage', `cannot write ${name}: ${errorReason(cause)}`, {
    cause,
    hint: 'Name a file in a directory that exists and that you may write to.',
  });
}
