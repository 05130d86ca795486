import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { isObject } from '../../core/json.ts';
import { errnoOf } from '../runtime/system.ts';

/** Which process it is, so that another can tell whether it still runs. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly host: string;
  /** When the process began, as the kernel counts; a process id alone is used again and again. */
  readonly began: string;
}

let self: Promise<ProcessIdentity> | undefined;

/** This very process. */
export function thisProcess(): Promise<ProcessIdentity> {
  // It is the same for as long as there is anyone to ask; a server locks with every call.
  self ??= processState(process.pid).then((state) => ({
    pid: process.pid,
    host: hostname(),
    began: state?.began ?? '',
  }));
  return self;
}

/**
 * Whether a process still runs; `elsewhere`: only its own machine could tell; `unknown`: a process of that number is there,
 * but it may be another one by now. Never throws.
 */
export async function stateOf(
  identity: ProcessIdentity,
): Promise<'here' | 'stopped' | 'gone' | 'elsewhere' | 'unknown'> {
  if (identity.host !== hostname()) return 'elsewhere';
  try {
    process.kill(identity.pid, 0);
  } catch (thrown) {
    if (errnoOf(thrown) === 'ESRCH') return 'gone';
  }
  const state = await processState(identity.pid);
  if (state === undefined) return 'unknown';
  if (state.began !== identity.began) return 'gone';
  return state.isStopped ? 'stopped' : 'here';
}

/** An identity as it was written down; undefined if it is none. */
export function parseProcessIdentity(value: unknown): ProcessIdentity | undefined {
  if (!isObject(value)) return undefined;
  const { pid, host, began } = value;
  const isWhole = Number.isInteger(pid) && typeof host === 'string' && typeof began === 'string';
  return isWhole ? { pid: pid as number, host, began } : undefined;
}

/** What Linux tells of a process; undefined elsewhere. https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html */
async function processState(pid: number): Promise<{ began: string; isStopped: boolean } | undefined> {
  if (process.platform !== 'linux') return undefined;
  try {
    const text = await readFile(`/proc/${pid}/stat`, 'latin1');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { began: fields[19] ?? '', isStopped: fields[0] === 'T' || fields[0] === 't' };
  } catch {
    return undefined;
  }
}

const LOOK_MS = 1000;

/**
 * Aborts with `parent`, or soon after the process that started this one is gone: whatever else holds the other end of our
 * standard input then, nobody is left to answer. Keeps no process alive.
 */
export function whileParentLives(parent: AbortSignal): AbortSignal {
  const starter = process.ppid;
  const orphaned = new AbortController();
  const timer = setInterval(() => {
    if (process.ppid === starter) return;
    clearInterval(timer);
    orphaned.abort();
  }, LOOK_MS);
  timer.unref();
  return AbortSignal.any([parent, orphaned.signal]);
}
