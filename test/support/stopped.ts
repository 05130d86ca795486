import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { vi } from 'vitest';

/** Stops a program as Ctrl+Z does, does the `work`, waits until a running timer of `limitMs` is overdue, and resumes the program. */
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

/** Blocks this process, so that its timers run before anything is read. */
export async function standStill(ms: number): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
