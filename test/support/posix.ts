import { execFileSync } from 'node:child_process';
import { test } from 'vitest';

/** Where these tests cannot mean anything: no FIFOs, no permission bits, no shell, no signals. */
export const isWindows = process.platform === 'win32';

/** A test about what only POSIX systems have: FIFOs, permission bits, a shell, signals. */
export const posixTest = test.skipIf(isWindows);

/** A test about what Linux alone has: /proc, /dev/full. */
export const linuxTest = test.runIf(process.platform === 'linux');

/** Makes FIFOs. */
export function fifo(...paths: readonly string[]): void {
  execFileSync('mkfifo', [...paths]);
}
