import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'vitest';

export const isWindows = process.platform === 'win32';

/** For FIFOs, permission bits, shells and signals. */
export const posixTest = test.skipIf(isWindows);

/** For /proc and /dev/full. */
export const linuxTest = test.runIf(process.platform === 'linux');

export function fifo(...paths: readonly string[]): void {
  execFileSync('mkfifo', [...paths]);
}

/** Every process that carries this text in its environment or its arguments. */
export function processesWith(text: string): readonly string[] {
  const read = (path: string): string => {
    try {
      return readFileSync(path, 'latin1');
    } catch {
      return '';
    }
  };
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => `${read(`/proc/${pid}/environ`)}${read(`/proc/${pid}/cmdline`)}`.includes(text));
}

/** What Node reports for a file with these permission bits. Windows has none: each file there may be read and written. */
export function systemMode(mode: number): number {
  return isWindows ? 0o666 : mode;
}

/** A path as a part of a regular expression: on Windows it has backslashes. */
export function toPattern(path: string): string {
  return path.replaceAll(/[\\.+()[\]]/g, '\\$&');
}
