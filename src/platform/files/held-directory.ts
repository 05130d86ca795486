import { constants, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { type FileHandle, mkdir, open, readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { errnoOf } from '../runtime/system.ts';

/** How a directory is held fast: by its descriptor where the system names those as paths, else by looking again. */
export type Hold = 'descriptor' | 'path';

/** A directory that was opened and proven to be the one that was meant. */
export interface HeldDirectory {
  /** Free of links. */
  readonly path: string;
  /** How a file in it is addressed. Held by its descriptor, it cannot be led elsewhere by a rename or a link. */
  at(name: string): string;
  /** Throws `moved` if the path leads to another directory by now; held by its descriptor, it cannot. */
  verify(): Promise<void>;
  close(): Promise<void>;
}

/** An error with code `EMOVED`: a path leads elsewhere than a moment ago, somebody is changing the directories under us. */
export function moved(): Error {
  return Object.assign(new Error('the directory was moved'), { code: 'EMOVED' });
}

let holdHere: Hold | undefined;

/** The best way to hold directories that this system has. */
export function holdOfSystem(): Hold {
  // It is the same for as long as this process runs; a server asks with every call.
  holdHere ??= process.platform === 'linux' && canReadDescriptors() ? 'descriptor' : 'path';
  return holdHere;
}

function canReadDescriptors(): boolean {
  try {
    readlinkSync('/proc/self/fd/0');
    return true;
  } catch (thrown) {
    // Descriptor 0 may be closed; what counts is that there is such a directory.
    return errnoOf(thrown) === 'ENOENT' && isThere('/proc/self/fd');
  }
}

function isThere(path: string): boolean {
  return process.getBuiltinModule('node:fs').existsSync(path);
}

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;

/** Opens a directory by its real path. Throws `moved` if that is not what was opened, and the system's own errors. */
export async function holdDirectory(path: string, hold: Hold): Promise<HeldDirectory> {
  return held(await openDirectory(path), path, hold);
}

/** A directory in one that is held; made if it is not there. Links are refused with `moved`. */
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
    // The kernel's own word for what was opened.
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

/** Where a path leads: the real path of what exists of it, and the names that do not exist yet. */
interface Located {
  readonly real: string;
  readonly rest: readonly string[];
  /** Why the rest could not be looked at, if not because it does not exist. */
  readonly fault?: unknown;
}

/**
 * Follows a path as far as it can; undefined if it ends in a link to nothing, or nothing of it is there. Faults are handed back,
 * not thrown: whether there is one may be told only of places that are anybody's business.
 */
export function locate(path: string): Located | undefined {
  const rest: string[] = [];
  let fault: unknown;
  for (let current = path; ; current = dirname(current)) {
    try {
      // A look first: what is not there costs no exception then.
      const status = lstatSync(current, { throwIfNoEntry: false });
      if (status !== undefined)
        return { real: realpathSync.native(current), rest, ...(fault === undefined ? {} : { fault }) };
    } catch (thrown) {
      if (dirname(current) === current) throw thrown;
      if (errnoOf(thrown) !== 'ENOENT') fault ??= thrown;
      else if (isLink(current)) return undefined;
    }
    // A drive of Windows that is not there lies in itself.
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
