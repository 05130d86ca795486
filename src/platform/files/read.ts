import {
  accessSync,
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { type FileHandle, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../core/error.ts';
import { errorCode, errorReason } from '../runtime/system.ts';
import { type FileKind, isOurs, READ_FLAGS, READ_FLAGS_NO_LINK, toFileKind } from './path.ts';

export interface FoundPath {
  readonly path: string;
  readonly kind: FileKind;
}

interface DirectoryEntry {
  readonly name: string;
  readonly kind: FileKind;
}

interface ReadOptions {
  readonly name?: string;
  readonly maxBytes: number;
  readonly tooLarge: (bytes: number) => AppError;
  /** `never` rejects a path whose last segment is a link. */
  readonly links?: 'follow' | 'never';
}

/** What a path leads to, links followed; undefined if nothing. Throws AppError `usage` if that cannot be determined. */
export async function inspectPath(path: string, name = path): Promise<FoundPath | undefined> {
  try {
    if (path.includes('\0')) return undefined;
    const real = realpathSync.native(path);
    return { path: real, kind: toFileKind(statSync(real)) };
  } catch (thrown) {
    const code = errorCode(thrown);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw readError(thrown, name);
  }
}

/** Regular files only, never more than `maxBytes`; does not block on a FIFO. Throws AppError `usage`. */
export async function readBytes(path: string, options: ReadOptions): Promise<Uint8Array> {
  const { name = path, maxBytes, tooLarge, links } = options;
  let fd: number | undefined;
  try {
    fd = openSync(path, links === 'never' ? READ_FLAGS_NO_LINK : READ_FLAGS);
    const status = fstatSync(fd);
    if (status.isDirectory()) throw directoryError(name);
    if (!status.isFile()) throw irregularFileError(name);
    if (status.size > maxBytes) throw tooLarge(status.size);
    // Not by its size: a file may grow meanwhile, and those under /proc claim to be empty.
    const chunks: Uint8Array[] = [];
    for (let total = 0; ; ) {
      const buffer = Buffer.allocUnsafe(Math.max(4096, status.size + 1 - total));
      const count = readSync(fd, buffer);
      if (count === 0) return Buffer.concat(chunks);
      total += count;
      if (total > maxBytes) throw tooLarge(total);
      chunks.push(buffer.subarray(0, count));
    }
  } catch (thrown) {
    throw thrown instanceof AppError ? thrown : readError(thrown, name);
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** The size of a regular file and its first `maxBytes`. Never blocks on a FIFO. Throws AppError `usage`. */
export async function readBeginning(
  path: string,
  maxBytes: number,
  { name, links }: { readonly name: string; readonly links: 'follow' | 'never' },
): Promise<{ readonly size: number; readonly head: Uint8Array }> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(path, links === 'never' ? READ_FLAGS_NO_LINK : READ_FLAGS);
    const status = await handle.stat();
    if (!status.isFile()) throw irregularFileError(name);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(Math.min(maxBytes, status.size)), 0);
    return { size: status.size, head: buffer.subarray(0, bytesRead) };
  } catch (thrown) {
    throw thrown instanceof AppError ? thrown : readError(thrown, name);
  } finally {
    await handle?.close();
  }
}

export async function readBytesIfAny(path: string, options: ReadOptions): Promise<Uint8Array | undefined> {
  return (await inspectPath(path))?.kind === 'file' ? readBytes(path, options) : undefined;
}

/** Undefined if it is missing, or larger than `maxBytes`. Never blocks on a FIFO. Throws system errors. */
export async function readTextFile(path: string, maxBytes = Number.POSITIVE_INFINITY): Promise<string | undefined> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(path, READ_FLAGS);
    const status = await handle.stat();
    if (!status.isFile()) throw new Error('it is not a regular file');
    if (status.size > maxBytes) return undefined;
    return await handle.readFile('utf8');
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') return undefined;
    throw thrown;
  } finally {
    await handle?.close();
  }
}

/** Sorted by name, links not followed. Throws AppError `usage`. */
export async function readDirectory(path: string, name = path): Promise<readonly DirectoryEntry[]> {
  try {
    const entries = await readdir(path, { withFileTypes: true });
    return entries
      .map((entry) => ({ name: entry.name, kind: toFileKind(entry) }))
      .sort((left, right) => (left.name < right.name ? -1 : 1));
  } catch (thrown) {
    throw readError(thrown, name);
  }
}

/** Fills `into` with the bytes from `position`, as far as there are any, and returns the filled part. */
export async function readFully(handle: FileHandle, position: number, into: Uint8Array): Promise<Uint8Array> {
  for (let filled = 0; filled < into.length; ) {
    const { bytesRead } = await handle.read(into, filled, into.length - filled, position + filled);
    if (bytesRead === 0) return into.subarray(0, filled);
    filled += bytesRead;
  }
  return into;
}

const MAX_NAME = 80;

const READ_ERRORS: Readonly<Record<string, readonly [what: string, hint: string]>> = {
  ENOENT: ['no such file', 'Check the path; it is relative to the working directory.'],
  ENOTDIR: ['no such file', 'A part of the path is a file, not a directory.'],
  EACCES: ['permission denied', 'Check who may read it: ls -l'],
  EPERM: ['permission denied', 'Check who may read it: ls -l'],
  ENAMETOOLONG: ['file name too long', 'Is it text? Then give it as the prompt, without -f.'],
  ELOOP: ['too many symbolic links', 'Give the path of the file itself.'],
  EMFILE: ['too many open files', 'Raise the limit (ulimit -n) and try again.'],
  ENFILE: ['too many open files', 'Close some programs and try again.'],
};

export function readError(thrown: unknown, name: string): AppError {
  const code = errorCode(thrown);
  // What open() reports for a socket.
  if (code === 'ENXIO') return irregularFileError(name);
  const [what, hint] = READ_ERRORS[code] ?? [`cannot read (${errorReason(thrown)})`, 'Check the file and try again.'];
  const shown = name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name;
  return new AppError('usage', `${what}: ${shown}`, { cause: thrown, hint });
}

function directoryError(name: string): AppError {
  return new AppError('usage', `${name} is a directory`, { hint: 'Name a file in it.' });
}

export function irregularFileError(name: string): AppError {
  return new AppError('usage', `${name} is not a regular file`, { hint: 'Pipe it in instead: … | gmn "…"' });
}

export interface PathStatus {
  readonly kind: FileKind;
  readonly mode: number;
  readonly isOurs: boolean;
  readonly isWritable: boolean;
  readonly bytes: number;
}

/** Follows links; undefined if the path does not exist or is not accessible. Never throws. */
export function readPathStatus(path: string): PathStatus | undefined {
  try {
    const status = statSync(path);
    return {
      kind: toFileKind(status),
      mode: process.platform === 'win32' ? 0 : status.mode & 0o777,
      isOurs: isOurs(status.uid),
      isWritable: isWritable(path),
      bytes: status.size,
    };
  } catch {
    return undefined;
  }
}

export function listPaths(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
      .sort()
      .map((name) => join(directory, name));
  } catch {
    return [];
  }
}

/** By name, in order; links are not followed. Empty for what cannot be read. Never throws. */
export function listDirectoryEntries(directory: string): readonly { readonly name: string; readonly kind: FileKind }[] {
  try {
    return readdirSync(directory, { withFileTypes: true })
      .map((entry) => ({ name: entry.name, kind: toFileKind(entry) }))
      .sort((one, other) => (one.name < other.name ? -1 : 1));
  } catch {
    return [];
  }
}

export function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

const MAX_STATE_BYTES = 1_000_000;

type FileState = { readonly kind: 'absent' } | { readonly kind: 'unreadable'; readonly why: string } | FileText;

export interface FileText {
  readonly kind: 'text';
  readonly text: string;
  /** The permission bits; 0 on Windows. */
  readonly mode: number;
  readonly isOurs: boolean;
  readonly version: string;
}

/** The state of a small file; `isOurs` if it belongs to `uid`. Follows links. Never throws or blocks on a FIFO. */
export async function readFileState(path: string, uid = process.getuid?.()): Promise<FileState> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(path, READ_FLAGS);
    const status = await handle.stat({ bigint: true });
    if (!status.isFile()) return { kind: 'unreadable', why: 'it is not a regular file' };
    if (status.size > MAX_STATE_BYTES) return { kind: 'unreadable', why: 'it is larger than 1 MB' };
    const text = await handle.readFile('utf8');
    const mode = process.platform === 'win32' ? 0 : Number(status.mode) & 0o777;
    return { kind: 'text', text, mode, isOurs: isOurs(status.uid, uid), version: toVersion(status) };
  } catch (thrown) {
    const code = errorCode(thrown);
    if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'absent' };
    return { kind: 'unreadable', why: code === 'EACCES' ? 'permission denied' : errorReason(thrown) };
  } finally {
    await handle?.close();
  }
}

/** Differs whenever a file was written or replaced. */
export function toVersion({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join('.');
}
