import { execFileSync } from 'node:child_process';
import { test } from 'vitest';

export const isWindows = process.platform === 'win32';

/** For FIFOs, permission bits, shells and signals. */
export const posixTest = test.skipIf(isWindows);

/** For /proc and /dev/full. */
export const linuxTest = test.runIf(process.platform === 'linux');

export function fifo(...paths: readonly string[]): void {
  execFileSync('mkfifo', [...paths]);
}
