import { constants, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { type FileHandle, mkdir, open, readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { errnoOf } from '../runtime/system.ts';

/**
 * How a directory is pinned: by descriptor where the system exposes descriptors as paths, else by checking the path
 * again.
 */
export type Hold = 'descriptor' | 'path';

export interface HeldDirectory {
  /** Free of links. */
  readonly path: string;
  /** The path for a file in it. With mode `descriptor`, no rename or link can redirect it. */
  at(name: string): string;
  /** Throws `movedError` if the path leads to another directory by now; never in mode `descriptor`. */
  verify(): Promise<void>;
  close(): Promise<void>;
}

/**
 * An error with code `EMOVED`: a path leads elsewhere than a moment ago, so somebody is changing directories under us.
 */
export function moved(): Error {
  return Object.assign(new Error('the directory was moved'), { code: 'EMOVED' });
}

let holdHere: Hold | undefined;

/** The safest mode this system supports. */
export function holdOfSystem(): Hold {
  // Constant for the process; a server asks with every call.
  holdHere ??= process.platform === 'linux' && canReadDescriptors() ? 'descriptor' : 'path';
  return holdHere;
}

function canReadDescriptors(): boolean {
  try {
    readlinkSync('/proc/self/fd/0');
    return true;
  } catch (thrown) {
    // Descriptor 0 may be closed; what matters is that the directory exists.
    return errnoOf(thrown) === 'ENOENT' && isThere('/proc/self/fd');
  }
}

function isThere(path: string): boolean {
  return process.getBuiltinModule('node:fs').existsSync(path);
}

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;

/** Opens a directory by its real path. Throws `movedError` if something else was opened, and system errors. */
export async function holdDirectory(path: string, hold: Hold): Promise<HeldDirectory> {
  return held(await openDirectory(path), path, hold);
}

/** Opens a directory inside another, creating it if missing. Throws `movedError` for a link. */
export async function holdChild(parent: HeldDirectory, name: string, hold: Hold): Promise<HeldDirectory> {
  await parent.verify();
  await mkdir(parent.at(name)).catch((thrown: unknown) => {
    if (errnoOf(thrown) !== 'EEXIST') throw thrown;
  });
  return held(await openDirectory(parent.at(name)), join(parent.path, name), hold);
}

/** Opens a directory without following a link: throws `moved` for one, and the system's own errors. */
async function openDirectory(path: string): Promise<FileHandle> {
  try {
    return await open(path, O_RDONLY | (O_DIRECTORY ?? 0) | (O_NOFOLLOW ?? 0));
  } catch (thrown) {
    // A link gives ELOOP, or on Linux ENOTDIR, as a file does.
    const isMoved = errnoOf(thrown) === 'ELOOP' || (errnoOf(thrown) === 'ENOTDIR' && isLink(path));
    throw isMoved ? moved() : thrown;
  }
}

async function held(handle: FileHandle, path: string, hold: Hold): Promise<HeldDirectory> {
  const directory: HeldDirectory = {
    path,
    at: (name) => (hold === 'descriptor' ? `/proc/self/fd/${handle.fd}/${name}` : join(path, name)),
    verify: () => (hold === 'descriptor' ? Promise.resolve() : verifyPath(handle, path)),
    close: () => handle.close(),
  };
  try {
    // The kernel's own path of what was opened.
    if (hold === 'path') await verifyPath(handle, path);
    else if ((await readlink(`/proc/self/fd/${handle.fd}`)) !== path) throw moved();
    return directory;
  } catch (thrown) {
    await handle.close();
    throw thrown;
  }
}

async function verifyPath(handle: FileHandle, path: string): Promise<void> {
  const [real, now, opened] = await Promise.all([realpath(path), stat(path), handle.stat()]);
  if (real !== path || now.dev !== opened.dev || now.ino !== opened.ino) throw moved();
}

/** The real path of the part of a path that exists, and the names that do not exist yet. */
interface Located {
  readonly real: string;
  readonly rest: readonly string[];
  /** Why the rest could not be examined, if not because it does not exist. */
  readonly fault?: unknown;
}

/**
 * Resolves a path as far as it exists; undefined if it ends in a dangling link, or nothing of it exists. Errors are
 * returned, not thrown: callers must not reveal them for paths outside the workspace.
 */
export function locate(path: string): Located | undefined {
  const rest: string[] = [];
  let fault: unknown;
  for (let current = path; ; current = dirname(current)) {
    try {
      // lstat first: a missing path then costs no exception.
      const status = lstatSync(current, { throwIfNoEntry: false });
      if (status !== undefined)
        return { real: realpathSync.native(current), rest, ...(fault === undefined ? {} : { fault }) };
    } catch (thrown) {
      if (dirname(current) === current) throw thrown;
      if (errnoOf(thrown) !== 'ENOENT') fault ??= thrown;
      else if (isLink(current)) return undefined;
    }
    // A Windows drive that does not exist is its own parent.
    if (dirname(current) === current) return undefined;
    rest.unshift(basename(current));
  }
}

/** Never throws: what cannot be looked at is no link that anybody could follow. */
function isLink(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
  } catch {
    return false;
  }
}
