import { realpathSync, statSync } from 'node:fs';

/** The path without links, in the file system's own spelling; undefined if nothing is there. Never throws. */
export function realPath(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}

/** Whether there is a directory, links followed. Never throws. */
export function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** Whether there is anything, links followed. Unlike a look for its path it costs no exception where nothing is. Never throws. */
export function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}
