import { lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { errorCode } from '../runtime/system.ts';
import { type HandleMode, openDirectorySync } from './directory-sync.ts';
import { findFileKind, isDirectory, notDirectoryError, pathExists } from './path.ts';

export interface DirectoryHandle {
  readonly path: string;
  /** With mode `descriptor`, no rename or link can redirect it. */
  at(name: string): string;
  /** Throws `movedError` if the path leads to another directory by now; never in mode `descriptor`. */
  verify(): Promise<void>;
  close(): Promise<void>;
}

export function detectHandleMode(): HandleMode {
  return process.platform === 'linux' && canReadDescriptors() ? 'descriptor' : 'path';
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

export async function openDirectoryHandle(path: string, mode: HandleMode, at = path): Promise<DirectoryHandle> {
  const directory = openDirectorySync(path, mode, at);
  return {
    path,
    // Not `join`: without the last separator, the address of a descriptor is a link.
    at: (name) => `${directory.address}${sep}${name}`,
    verify: async () => directory.verify(),
    close: async () => directory.close(),
  };
}

/** Creates it if it is missing. Throws `movedError` for a link. */
export async function openChildDirectory(
  parent: DirectoryHandle,
  name: string,
  mode: HandleMode,
): Promise<DirectoryHandle> {
  await parent.verify();
  await mkdir(parent.at(name)).catch((thrown: unknown) => {
    if (errorCode(thrown) !== 'EEXIST') throw thrown;
  });
  return openDirectoryHandle(join(parent.path, name), mode, parent.at(name));
}

/**
 * Resolves a path as far as it exists; undefined if it ends in a dangling link, or nothing of it exists. Errors are
 * returned, not thrown: callers must not reveal them for paths outside the workspace.
 */
export function locate(path: string) {
  const rest: string[] = [];
  let fault: unknown;
  for (let current = path; ; current = dirname(current)) {
    try {
      const status = lstatSync(current, { throwIfNoEntry: false });
      if (status !== undefined) {
        const real = realpathSync.native(current);
        // What Windows says is only that there is no such file.
        if (rest.length > 0 && !isDirectory(real)) fault ??= notDirectoryError();
        return { real, rest, fault };
      }
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
