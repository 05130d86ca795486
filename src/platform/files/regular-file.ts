import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, link, lstat, open, unlink } from 'node:fs/promises';
import { AppError } from '../../core/error.ts';
import { errorCode } from '../runtime/system.ts';
import type { DirectoryHandle } from './directory-handle.ts';
import { movedError } from './directory-sync.ts';
import { READ_FLAGS_NO_LINK } from './path.ts';
import { readFully, toVersion } from './read.ts';
import { replaceFile, writeBeside } from './write.ts';

export interface OpenedFile {
  readonly size: number;
  readonly mode: number;
  readonly names: number;
  readonly version: string;
  /** Device and inode: the same for the same file, whatever its contents. */
  readonly identity: string;
  read(position: number, length: number): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** Never blocks, never follows a link. Undefined if missing. Throws AppError `usage`, `movedError`, system errors. */
export async function openRegularFile(directory: DirectoryHandle, name: string): Promise<OpenedFile | undefined> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(directory.at(name), READ_FLAGS_NO_LINK);
    const status = await handle.stat({ bigint: true });
    await directory.verify();
    if (status.isDirectory()) throw new AppError('usage', 'it is a directory', { hint: 'Name a file in it.' });
    if (!status.isFile()) throw specialFileError();
    return toOpenedFile(handle, status);
  } catch (thrown) {
    await handle?.close();
    if (errorCode(thrown) === 'ENOENT') return undefined;
    if (errorCode(thrown) === 'ELOOP') throw movedError();
    // What open() reports for sockets and some devices.
    if (errorCode(thrown) === 'ENXIO' || errorCode(thrown) === 'ENODEV') throw specialFileError();
    throw thrown;
  }
}

function specialFileError(): AppError {
  return new AppError('usage', 'it is not a regular file', { hint: 'Pipes, sockets and devices cannot be used.' });
}

function toOpenedFile(handle: FileHandle, status: BigIntStats): OpenedFile {
  return {
    size: Number(status.size),
    mode: Number(status.mode) & 0o7777,
    names: Number(status.nlink),
    version: toVersion(status),
    identity: `${status.dev}.${status.ino}`,
    read: (position, length) => readFully(handle, position, Buffer.allocUnsafe(length)),
    close: () => handle.close(),
  };
}

interface Replacement {
  readonly bytes: Uint8Array;
  readonly old?: { readonly version: string };
  readonly mode?: number;
}

/**
 * Replaces a file of an open directory, so that every reader sees the old bytes or the new ones. Owner, group and, where the system can
 * copy them, extended attributes stay; a file whose owner would change is written in place instead. `changed`: the file is not the one to
 * be replaced, or one has appeared; it was left alone.
 */
export async function writeAtomicIn(
  directory: DirectoryHandle,
  name: string,
  { bytes, old, mode }: Replacement,
): Promise<'written' | 'changed'> {
  const former = old === undefined ? undefined : await openFormer(directory, name, old.version);
  if (former === 'changed') return 'changed';
  try {
    return await replaceWith(directory, name, { bytes, mode, old }, former);
  } catch (thrown) {
    if (thrown !== OWNER_ERROR || old === undefined) throw thrown;
    return await overwrite(directory, name, bytes, old.version);
  } finally {
    await former?.close();
  }
}

/** Kept open, so that owner and attributes can be copied to the new file. */
async function openFormer(directory: DirectoryHandle, name: string, version: string): Promise<FileHandle | 'changed'> {
  await directory.verify();
  let handle: FileHandle | undefined;
  try {
    handle = await open(directory.at(name), READ_FLAGS_NO_LINK);
    if (toVersion(await handle.stat({ bigint: true })) === version) return handle;
  } catch (thrown) {
    await handle?.close();
    if (!['ENOENT', 'ELOOP', 'ENXIO', 'ENODEV'].includes(errorCode(thrown))) throw thrown;
    return 'changed';
  }
  await handle.close();
  return 'changed';
}

async function replaceWith(
  directory: DirectoryHandle,
  name: string,
  { bytes, old, mode }: Replacement,
  former: FileHandle | undefined,
): Promise<'written' | 'changed'> {
  const prepare = former === undefined ? undefined : (handle: FileHandle) => copyOwner(handle, former);
  await directory.verify();
  return writeBeside(directory.at(name), bytes, { mode, prepare }, async (temporary) => {
    await directory.verify();
    if (old === undefined) return linkNew(temporary, directory.at(name));
    const now = await lstat(directory.at(name), { bigint: true }).catch(() => undefined);
    if (now === undefined || toVersion(now) !== old.version) return 'changed';
    await former?.close();
    await replaceFile(temporary, directory.at(name));
    return 'written';
  });
}

/** A link, unlike a rename, never replaces a file that was created meanwhile. */
async function linkNew(temporary: string, target: string): Promise<'written' | 'changed'> {
  try {
    await link(temporary, target);
    return 'written';
  } catch (thrown) {
    if (errorCode(thrown) === 'EEXIST') return 'changed';
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(errorCode(thrown))) throw thrown;
    // A file system without hard links.
    if ((await lstat(target).catch(() => undefined)) !== undefined) return 'changed';
    await replaceFile(temporary, target);
    return 'written';
  }
}

const OWNER_ERROR = new Error('the owner cannot be kept');

/** Copies owner, group and attributes. Throws `OWNER_ERROR` if the new file cannot have the same owner and group. */
async function copyOwner(handle: FileHandle, former: FileHandle): Promise<void> {
  if (process.platform === 'win32') return;
  const [before, now] = await Promise.all([former.stat(), handle.stat()]);
  if (before.uid !== now.uid || before.gid !== now.gid) {
    await handle.chown(before.uid, before.gid).catch((thrown: unknown) => {
      throw errorCode(thrown) === 'EPERM' ? OWNER_ERROR : thrown;
    });
  }
  if (process.platform === 'linux') await copyAttributes(former.fd, handle.fd);
}

const COPY_MS = 5000;

/**
 * Copies access control lists and extended attributes, for which Node has no call; they are lost without GNU `cp`. The files are passed as
 * descriptors, so that no name can lead elsewhere.
 */
async function copyAttributes(from: number, to: number): Promise<void> {
  const { spawn } = process.getBuiltinModule('node:child_process');
  const args = ['--attributes-only', '--preserve=mode,xattr', '--', '/dev/fd/3', '/dev/fd/4'];
  const child = spawn('/bin/cp', args, { stdio: ['ignore', 'ignore', 'ignore', from, to], env: {}, timeout: COPY_MS });
  await new Promise<void>((resolve) => {
    child.once('error', () => resolve());
    child.once('close', () => resolve());
  });
}

/** Writes in place, so the owner stays; a reader, or a power failure, may see half of it. */
async function overwrite(
  directory: DirectoryHandle,
  name: string,
  bytes: Uint8Array,
  version: string,
): Promise<'written' | 'changed'> {
  await directory.verify();
  const flags = constants.O_WRONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0);
  const handle = await open(directory.at(name), flags);
  try {
    if (toVersion(await handle.stat({ bigint: true })) !== version) return 'changed';
    await handle.truncate(bytes.length);
    await handle.writeFile(bytes);
    await handle.sync();
    return 'written';
  } finally {
    await handle.close();
  }
}

export async function removeFileIn(
  directory: DirectoryHandle,
  name: string,
  version: string | undefined,
): Promise<'removed' | 'changed'> {
  await directory.verify();
  const now = await lstat(directory.at(name), { bigint: true }).catch(() => undefined);
  if (now === undefined || toVersion(now) !== version) return 'changed';
  await unlink(directory.at(name));
  return 'removed';
}
