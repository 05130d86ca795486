import { constants, type Dirent, lstatSync, mkdirSync, realpathSync, type Stats, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { errorCode } from '../runtime/system.ts';

const { O_RDONLY, O_NONBLOCK = 0, O_NOCTTY = 0, O_NOFOLLOW = 0 } = constants;

/** Flags of open for reading: a FIFO does not block, and no terminal becomes ours. */
export const READ_FLAGS = O_RDONLY | O_NONBLOCK | O_NOCTTY;

/** The same, and a link is not followed. */
export const READ_FLAGS_NO_LINK = READ_FLAGS | O_NOFOLLOW;

/** The path without links, in the file system's own spelling; undefined if it does not exist. Never throws. */
export function realPath(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}

export function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** Follows links. Costs no exception for a missing path, unlike `realPath`. Never throws. */
export function pathExists(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

/** Whether there is an entry of that path, be it a link that leads nowhere. Never throws. */
export function entryExists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

export type FileKind = 'file' | 'directory' | 'link' | 'other';

export function toFileKind(status: Stats | Dirent): FileKind {
  if (status.isFile()) return 'file';
  if (status.isDirectory()) return 'directory';
  return status.isSymbolicLink() ? 'link' : 'other';
}

/** What has this name, links not followed; undefined if nothing, or if that cannot be determined. Never throws. */
export function findFileKind(path: string): FileKind | undefined {
  try {
    const status = lstatSync(path, { throwIfNoEntry: false });
    return status && toFileKind(status);
  } catch {
    return undefined;
  }
}

/** By its permission bits. Links are not followed. Never throws. */
export function isReadableByOthers(path: string): boolean {
  try {
    return ((lstatSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o004) !== 0;
  } catch {
    return false;
  }
}

/** Always true where files have no owners (Windows). */
export function isOurs(owner: number | bigint, uid = process.getuid?.()): boolean {
  return uid === undefined || Number(owner) === uid;
}

/** The code of a system error as POSIX has it: Windows says ENOENT also where a file is in the place of a directory. */
export function toPosixCode(thrown: unknown): string {
  const code = errorCode(thrown);
  const path = thrown instanceof Error && 'path' in thrown ? String(thrown.path) : '';
  return code === 'ENOENT' && findFileKind(dirname(path)) === 'file' ? 'ENOTDIR' : code;
}

/** As the system reports it on POSIX. */
export function notDirectoryError(): Error {
  return Object.assign(new Error('it is not a directory'), { code: 'ENOTDIR' });
}

/** Private ones, one level at a time: Node's recursive mkdir never returns where nothing can be created (/proc). */
export function makeDirectories(path: string): void {
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
    mkdirSync(path, { mode: 0o700 });
  } catch (thrown) {
    const code = errorCode(thrown);
    if (code === 'EEXIST') return;
    if (code !== 'ENOENT' || dirname(path) === path) throw thrown;
    makeDirectories(dirname(path));
    // Another process may have created it meanwhile.
    // Windows says that the directory is missing where a file is in its place.
    if (mkdirFails(path)) throw isDirectory(dirname(path)) ? thrown : notDirectoryError();
  }
}

function mkdirFails(path: string): boolean {
  try {
    mkdirSync(path, { mode: 0o700 });
    return false;
  } catch (thrown) {
    return errorCode(thrown) !== 'EEXIST';
  }
}

/** A hidden file beside it, with a unique name. `isTemporary` recognizes what a killed process leaves. */
export function temporaryPath(path: string): string {
  // File names are limited to 255 bytes, and the suffix needs some of them.
  const stem = Buffer.from(basename(path))
    .subarray(0, 100)
    .toString('latin1')
    .replace(/[^\w.-]/g, '_');
  return join(dirname(path), `.${stem}.${process.pid}.${process.hrtime.bigint().toString(36)}.tmp`);
}

export function isTemporary(name: string): boolean {
  return name.endsWith('.tmp');
}

export function fromFileUrl(url: URL): string {
  return process.getBuiltinModule('node:url').fileURLToPath(url);
}
