import { closeSync, fstatSync, lstatSync, openSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { sha256 } from '../runtime/native.ts';
import { READ_FLAGS, realPath, toFileKind } from './path.ts';
import { listDirectoryEntries } from './read.ts';

/** By path, what tells one content from another. */
export type Prints = ReadonlyMap<string, string>;

export interface PrintLimits {
  readonly files: number;
  /** The content of larger files is not read: their times tell. */
  readonly bytes: number;
  /** Of the names in a directory, those that count. */
  readonly select: (names: readonly string[]) => readonly string[];
}

/** Files, and directories with all below. What is missing, or cannot be read, has no print. Never throws. */
export function printPaths(paths: readonly string[], { files, bytes, select }: PrintLimits) {
  const prints = new Map<string, string>();
  const left = [...paths];
  for (const path of left) {
    if (prints.size >= files) return { prints, isPartial: true };
    try {
      const status = lstatSync(path);
      const kind = toFileKind(status);
      const start = `${kind} ${status.mode & 0o7777}`;
      if (kind === 'directory') {
        prints.set(path, start);
        for (const name of select(listDirectoryEntries(path).map((entry) => entry.name))) left.push(join(path, name));
      } else if (kind === 'link') {
        // With the content of a file that it leads to, as the programs in `node_modules/.bin` are.
        const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
        prints.set(path, `${start} ${readlinkSync(path)} ${isFile ? printFile(path, bytes) : realPath(path)}`);
      } else prints.set(path, kind === 'file' ? `${start} ${printFile(path, bytes)}` : start);
    } catch {
      // Gone meanwhile, or not ours to read.
    }
  }
  return { prints, isPartial: false };
}

function printFile(path: string, maxBytes: number): string {
  // Somebody may put a FIFO there.
  const descriptor = openSync(path, READ_FLAGS);
  try {
    const status = fstatSync(descriptor);
    if (status.isFile() && status.size <= maxBytes) return sha256(readFileSync(descriptor));
    return `${status.ino} ${status.size} ${status.ctimeMs}`;
  } finally {
    closeSync(descriptor);
  }
}

const PRIVILEGED_BITS = 0o6000;

/** Of the files directly in these directories, those that run as their owner or group, whoever starts them. Never throws. */
export function findPrivileged(directories: readonly string[], maxFiles: number) {
  const paths: string[] = [];
  let left = maxFiles;
  for (const directory of directories) {
    for (const { name, kind } of listDirectoryEntries(directory)) {
      if (kind !== 'file') continue;
      if (left === 0) return { paths, isPartial: true };
      left -= 1;
      const mode = lstatSync(join(directory, name), { throwIfNoEntry: false })?.mode ?? 0;
      if ((mode & PRIVILEGED_BITS) !== 0) paths.push(join(directory, name));
    }
  }
  return { paths, isPartial: false };
}
