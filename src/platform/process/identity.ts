import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { isObject } from '../../core/json.ts';
import { errorCode } from '../runtime/system.ts';

/** Identifies a process, so that another can tell whether it still runs. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly host: string;
  /** The start time, in kernel units; process ids alone are reused. */
  readonly began: string;
}

let self: Promise<ProcessIdentity> | undefined;

export function identifySelf(): Promise<ProcessIdentity> {
  // Constant for the process; a server locks with every call.
  self ??= readProcessState(process.pid).then((state) => ({
    pid: process.pid,
    host: hostname(),
    began: state?.began ?? '',
  }));
  return self;
}

/**
 * Whether a process still runs. `elsewhere`: only its own machine could tell; `unknown`: the pid exists, but may be
 * another process by now. Never throws.
 */
export async function checkProcess(
  identity: ProcessIdentity,
): Promise<'here' | 'stopped' | 'gone' | 'elsewhere' | 'unknown'> {
  if (identity.host !== hostname()) return 'elsewhere';
  try {
    process.kill(identity.pid, 0);
  } catch (thrown) {
    if (errorCode(thrown) === 'ESRCH') return 'gone';
  }
  const state = await readProcessState(identity.pid);
  if (state === undefined) return 'unknown';
  if (state.began !== identity.began) return 'gone';
  return state.isStopped ? 'stopped' : 'here';
}

export function parseProcessIdentity(value: unknown): ProcessIdentity | undefined {
  if (!isObject(value)) return undefined;
  const { pid, host, began } = value;
  const isWhole = Number.isInteger(pid) && typeof host === 'string' && typeof began === 'string';
  return isWhole ? { pid: pid as number, host, began } : undefined;
}

/** Linux only. https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html */
async function readProcessState(pid: number): Promise<{ began: string; isStopped: boolean } | undefined> {
  if (process.platform !== 'linux') return undefined;
  try {
    const text = await readFile(`/proc/${pid}/stat`, 'latin1');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { began: fields[19] ?? '', isStopped: fields[0] === 'T' || fields[0] === 't' };
  } catch {
    return undefined;
  }
}

const POLL_MS = 1000;

/**
 * A signal that aborts with `parent`, or soon after the parent process is gone: even if something else still holds our
 * stdin open, nobody is left to answer. Does not keep the process alive.
 */
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
