import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { vi } from 'vitest';

/**
 * Sends a program to sleep as Ctrl+Z does, does the `work`, waits until a timer of `limitMs` that was running is overdue,
 * and wakes the program up.
 */
export async function whileStopped(
  { pid = 0 }: Pick<ChildProcess, 'pid'>,
  limitMs: number,
  work: () => Promise<unknown>,
): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  await vi.waitUntil(() => stateOf(pid) === 'T');
  const overdue = new Promise((resolve) => setTimeout(resolve, 2 * limitMs));
  await work();
  await overdue;
  process.kill(pid, 'SIGCONT');
}

/** https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html */
function stateOf(pid: number): string | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2)[0];
}

/** The same for this process, whose timers are then run before anything is read: for so long it does nothing. */
export async function standStill(ms: number): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
