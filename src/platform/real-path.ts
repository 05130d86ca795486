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
