import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

const FLAGS =
  constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0) | (constants.O_NOCTTY ?? 0);

export interface RegularFile {
  readonly size: number;
  /** Returns how many bytes were read: fewer than `length` at the end of the file. */
  read(buffer: Uint8Array, offset: number, length: number, position: number): number;
}

/**
 * What `use` makes of a regular file; undefined if it is none. Never follows a link, never blocks on a FIFO or device.
 * Synchronous: for thousands of files in a row, or between two lines of another program. Throws system errors.
 */
export function withRegularFile<T>(path: string, use: (file: RegularFile) => T): T | undefined {
  const descriptor = openSync(path, FLAGS);
  try {
    const status = fstatSync(descriptor);
    if (!status.isFile()) return undefined;
    return use({ size: status.size, read: (...where) => readSync(descriptor, ...where) });
  } finally {
    closeSync(descriptor);
  }
}
