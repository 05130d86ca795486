import { accessSync, constants, readdirSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';

/** How a path stands, links followed. */
export interface PathStatus {
  readonly kind: 'file' | 'directory' | 'other';
  /** The permission bits; 0 on systems without them. */
  readonly mode: number;
  readonly isOurs: boolean;
  readonly isWritable: boolean;
  readonly bytes: number;
}

/** How a path stands; undefined if nothing is there, or cannot be seen. Changes nothing, never throws. */
export function pathStatus(path: string): PathStatus | undefined {
  try {
    const status = statSync(path);
    return {
      kind: kindOf(status),
      mode: process.platform === 'win32' ? 0 : status.mode & 0o777,
      isOurs: process.getuid === undefined || status.uid === process.getuid(),
      isWritable: isWritable(path),
      bytes: status.size,
    };
  } catch {
    return undefined;
  }
}

/** The paths of what is in a directory, in the order of their names; none if it cannot be read. Never throws. */
export function pathsIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
      .sort()
      .map((name) => join(directory, name));
  } catch {
    return [];
  }
}

function kindOf(status: Stats): PathStatus['kind'] {
  if (status.isFile()) return 'file';
  return status.isDirectory() ? 'directory' : 'other';
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
