import { closeSync, fstatSync, lstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { resolve } from 'node:path';
import { READ_FLAGS_NO_LINK } from './path.ts';

export interface RegularFile {
  readonly size: number;
  read(buffer: Uint8Array, offset: number, length: number, position: number): number;
}

/** Undefined if it is not a regular file. Never follows a link, never blocks. Throws system errors. */
export function withRegularFile<T>(path: string, use: (file: RegularFile) => T): T | undefined {
  const descriptor = openSync(path, READ_FLAGS_NO_LINK);
  try {
    const status = fstatSync(descriptor);
    if (!status.isFile()) return undefined;
    return use({ size: status.size, read: (...where) => readSync(descriptor, ...where) });
  } finally {
    closeSync(descriptor);
  }
}

export function readRegularText(path: string, maxBytes: number): string | undefined {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return '';
  const readText = ({ size, read }: RegularFile): { readonly text: string | undefined } => {
    if (size > maxBytes) return { text: undefined };
    const buffer = Buffer.alloc(size);
    return { text: buffer.toString('utf8', 0, read(buffer, 0, size, 0)) };
  };
  return (withRegularFile(path, readText) ?? { text: '' }).text;
}

export function readHead(path: string, length: number): Uint8Array | undefined {
  try {
    return withRegularFile(path, ({ read }) => {
      const head = Buffer.alloc(length);
      return head.subarray(0, read(head, 0, length, 0));
    });
  } catch {
    return undefined;
  }
}

/** A text that the build made. */
export function readBesideProgram(file: string): string {
  return readFileSync(resolve(__dirname, file), 'utf8');
}
