import system, { type PlatformPath } from 'node:path';

/** By name alone: `/a/b` does not contain `/a/bc`. Both must be absolute and free of links. */
export function contains(folder: string, path: string, { isAbsolute, relative, sep }: PlatformPath = system): boolean {
  const way = relative(folder, path);
  return isAbsolute(path) && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

export function shortenPath(path: string, home: string | undefined): string {
  return home && contains(home, path) ? `~${path.slice(home.replace(/[/\\]$/, '').length)}` : path;
}

/** What a shell makes of `~/x`, for a path that is typed where there is none. */
export function expandHome(path: string, home: string | undefined): string {
  return home ? path.replace(/^~(?=[/\\]|$)/, () => home) : path;
}

export function toSlashes(path: string, { sep }: PlatformPath = system): string {
  return path.split(sep).join('/');
}

/** https://learn.microsoft.com/en-us/windows/win32/fileio/naming-a-file */
const DEVICE_NAME = /^(?:con|prn|aux|nul|conin\$|conout\$|com[\d¹²³]|lpt[\d¹²³]) *(?:[.:]|$)/i;

/** In every directory of Windows, with any ending: `nul`, `a\\con.txt`. */
export function isWindowsDevice(name: string): boolean {
  return DEVICE_NAME.test(name);
}

/** On Windows, by its spelling: a server on the network, or a device. Even to look it up would reach out. */
export function isRemotePath(path: string, { sep }: PlatformPath = system): boolean {
  return sep === '\\' && (/^[\\/]{2}/.test(path) || hasDevice(path));
}

/**
 * The same for a path that somebody else chose, where the user works in `folders`, which may be on a server. Windows signs in to the
 * server of any path that is looked up, and so gives it a form of the user's password.
 */
export function leadsAway(path: string, folders: readonly string[], paths: PlatformPath = system): boolean {
  if (!isRemotePath(path, paths)) return false;
  return hasDevice(path) || !folders.some((folder) => contains(folder, paths.resolve(folder, path), paths));
}

function hasDevice(path: string): boolean {
  return path.split(/[\\/]/).some(isWindowsDevice);
}
