import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { isObject } from '../../core/json.ts';
import { errorCode } from '../runtime/system.ts';

export interface FoundProcess {
  readonly pid: number;
  /** Untrusted text. */
  readonly command: string;
}

export interface ProcessIdentity {
  readonly pid: number;
  readonly host: string;
  /** The start time, in kernel units; process ids alone are reused. */
  readonly began: string;
}

export function identifySelf(): ProcessIdentity {
  return { pid: process.pid, host: hostname(), began: readProcessState(process.pid)?.began ?? '' };
}

/** `elsewhere`: only its own machine could tell; `unknown`: the pid may be another process's. Never throws. */
export function checkProcess(identity: ProcessIdentity): 'here' | 'stopped' | 'gone' | 'elsewhere' | 'unknown' {
  if (identity.host !== hostname()) return 'elsewhere';
  try {
    process.kill(identity.pid, 0);
  } catch (thrown) {
    if (errorCode(thrown) === 'ESRCH') return 'gone';
  }
  const state = readProcessState(identity.pid);
  if (state === undefined) return 'unknown';
  if (state.began !== identity.began || state.isDead) return 'gone';
  return state.isStopped ? 'stopped' : 'here';
}

export function tryParseProcessIdentity(value: unknown): ProcessIdentity | undefined {
  if (!isObject(value)) return undefined;
  const { pid, host, began } = value;
  const isWhole = Number.isInteger(pid) && typeof host === 'string' && typeof began === 'string';
  return isWhole ? { pid: pid as number, host, began } : undefined;
}

/** Linux only, where this file is in memory. https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html */
function readProcessState(pid: number): { began: string; isStopped: boolean; isDead: boolean } | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const [state = ''] = fields;
    // A zombie has ended; in a container its parent may never collect it.
    return { began: fields[19] ?? '', isStopped: /^t$/i.test(state), isDead: /^[zx]$/i.test(state) };
  } catch {
    return undefined;
  }
}

const POLL_MS = 1000;

/** Also aborts soon after the parent process is gone: nobody is left to answer, even if stdin stays open. */
export function abortWithParent(parent: AbortSignal): AbortSignal {
  const starter = process.ppid;
  const orphaned = new AbortController();
  const timer = setInterval(() => {
    if (process.ppid === starter) return;
    clearInterval(timer);
    orphaned.abort();
  }, POLL_MS);
  timer.unref();
  return AbortSignal.any([parent, orphaned.signal]);
}
