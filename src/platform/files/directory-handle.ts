import { constants, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { type FileHandle, mkdir, open, readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { errorCode } from '../runtime/system.ts';
import { findFileKind, pathExists } from './path.ts';

/**
 * How a directory is pinned: by descriptor where the system exposes descriptors as paths, else by checking the path
 * again.
 */
export type HandleMode = 'descriptor' | 'path';

export interface DirectoryHandle {
  readonly path: string;
  /** The path for a file in it. With mode `descriptor`, no rename or link can redirect it. */
  at(name: string): string;
  /** Throws `movedError` if the path leads to another directory by now; never in mode `descriptor`. */
  verify(): Promise<void>;
  close(): Promise<void>;
}

/** Has the code `EMOVED`: a path leads elsewhere than a moment ago, because another process changes directories. */
export function movedError(): Error {
  return Object.assign(new Error('the directory was moved'), { code: 'EMOVED' });
}

let detectedMode: HandleMode | undefined;

export function detectHandleMode(): HandleMode {
  // Constant for the process; a server asks with every call.
  detectedMode ??= process.platform === 'linux' && canReadDescriptors() ? 'descriptor' : 'path';
  return detectedMode;
}

function canReadDescriptors(): boolean {
  try {
    readlinkSync('/proc/self/fd/0');
    return true;
  } catch (thrown) {
    // Descriptor 0 may be closed; what matters is that the directory exists.
    return errorCode(thrown) === 'ENOENT' && pathExists('/proc/self/fd');
  }
}

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;

/** Opens a directory by its real path. Throws `movedError` if something else was opened, and system errors. */
export async function openDirectoryHandle(path: string, mode: HandleMode): Promise<DirectoryHandle> {
  return createHandle(await openDirectory(path), path, mode);
}

/** Opens a directory inside another, creating it if missing. Throws `movedError` for a link. */
export async function openChildDirectory(
  parent: DirectoryHandle,
  name: string,
  mode: HandleMode,
): Promise<DirectoryHandle> {
  await parent.verify();
  await mkdir(parent.at(name)).catch((thrown: unknown) => {
    if (errorCode(thrown) !== 'EEXIST') throw thrown;
  });
  return createHandle(await openDirectory(parent.at(name)), join(parent.path, name), mode);
}

/** Throws `movedError` for a link, and system errors. */
async function openDirectory(path: string): Promise<FileHandle> {
  try {
    return await open(path, O_RDONLY | (O_DIRECTORY ?? 0) | (O_NOFOLLOW ?? 0));
  } catch (thrown) {
    // A link gives ELOOP, or on Linux ENOTDIR, as a file does.
    const isMoved = errorCode(thrown) === 'ELOOP' || (errorCode(thrown) === 'ENOTDIR' && findFileKind(path) === 'link');
    throw isMoved ? movedError() : thrown;
  }
}

async function createHandle(handle: FileHandle, path: string, mode: HandleMode): Promise<DirectoryHandle> {
  const directory: DirectoryHandle = {
    path,
    at: (name) => (mode === 'descriptor' ? `/proc/self/fd/${handle.fd}/${name}` : join(path, name)),
    verify: () => (mode === 'descriptor' ? Promise.resolve() : verifyPath(handle, path)),
    close: () => handle.close(),
  };
  try {
    // The kernel's own path of what was opened.
    if (mode === 'path') await verifyPath(handle, path);
    else if ((await readlink(`/proc/self/fd/${handle.fd}`)) !== path) throw movedError();
    return directory;
  } catch (thrown) {
    await handle.close();
    throw thrown;
  }
}

async function verifyPath(handle: FileHandle, path: string): Promise<void> {
  const [real, now, opened] = await Promise.all([realpath(path), stat(path), handle.stat()]);
  if (real !== path || now.dev !== opened.dev || now.ino !== opened.ino) throw movedError();
}

interface LocatedPath {
  readonly real: string;
  readonly rest: readonly string[];
  readonly fault?: unknown;
}

/**
 * Resolves a path as far as it exists; undefined if it ends in a dangling link, or nothing of it exists. Errors are
 * returned, not thrown: callers must not reveal them for paths outside the workspace.
 */
export function locate(path: string): LocatedPath | undefined {
  const rest: string[] = [];
  let fault: unknown;
  for (let current = path; ; current = dirname(current)) {
    try {
      // lstat first: a missing path then costs no exception.
      const status = lstatSync(current, { throwIfNoEntry: false });
      if (status !== undefined) return { real: realpathSync.native(current), rest, fault };
    } catch (thrown) {
      if (dirname(current) === current) throw thrown;
      if (errorCode(thrown) !== 'ENOENT') fault ??= thrown;
      else if (findFileKind(current) === 'link') return undefined;
    }
    // A Windows drive that does not exist is its own parent.
    if (dirname(current) === current) return undefined;
    rest.unshift(basename(current));
  }
}
