import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { StringDecoder } from 'node:string_decoder';
import type { Env } from '../../core/io.ts';
import { startTimer } from '../runtime/clock.ts';
import { reasonOf } from '../runtime/system.ts';
import { type Family, killFamily, stopFamily } from './group.ts';
import { type WindowsCommand, windowsCommand } from './windows-command.ts';

interface ProgramStart {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** All it gets; see `programEnvironment`. */
  readonly env: Readonly<Record<string, string>>;
}

/** How a program came to its end. */
export interface ProgramEnd {
  /** It never ran: the system's word for why. */
  readonly failure?: string;
  /** Null, with no signal either, if it still runs and has only closed its output. */
  readonly exitCode: number | null;
  readonly signal: string | null;
}

/** A program that runs beside us and talks over its standard streams. */
export interface Program {
  /** Resolves when there is room for more, or nobody is left to read it. Never rejects. */
  write(text: string): Promise<void>;
  /** What it writes to its standard output, to the end. Must be read, or the program stands still. Never throws. */
  readonly output: AsyncIterable<Uint8Array>;
  /** The first lines and the last of what it wrote to its standard error, which is always read. Untrusted text. */
  errors(): string;
  /** Resolves when it has ended, or closed its output, and what it wrote was read or will not come. */
  readonly ended: Promise<ProgramEnd>;
  /** Closes its input, then stops it and what it has started, as `stopFamily` does. Never rejects; may be called twice. */
  stop(): Promise<void>;
}

/** What is kept of its standard error. */
const ERROR_CHARS = 64 * 1024;
/** What is kept of its beginning, where many say what the rest is about. */
const HEAD_CHARS = 8 * 1024;
/** How long a program may take to end by itself once its input is closed. Some never do, and nobody wants to wait. */
const GRACE_MS = 300;
/** How long the output of a program that has ended may still trickle in. */
const LINGER_MS = 200;

/** Starts a program in a group of its own, without a shell. One that cannot be started has ended with a `failure`. */
export function startProgram(start: ProgramStart): Program {
  let child: ChildProcessWithoutNullStreams;
  try {
    const { command, args, isVerbatim } = startable(start);
    child = spawn(command, args, {
      windowsVerbatimArguments: isVerbatim,
      cwd: start.cwd,
      env: start.env,
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: process.platform !== 'win32',
      windowsHide: true,
    });
  } catch (thrown) {
    return neverStarted(thrown);
  }
  // Nothing carries the mark: the environment of the program is what its user wrote, so only its group is stopped.
  const family = child.pid === undefined ? undefined : { leader: child.pid, marker: randomUUID() };
  if (family !== undefined) keepTrack(family);
  const errors = readErrors(child);
  // The end is told by `ended`; a write after it is nobody's mistake.
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', () => {});
  const ended = endOf(child);
  let stopping: Promise<void> | undefined;
  return {
    write: (text) => write(child, text),
    output: outputOf(child),
    errors,
    ended,
    stop: () => (stopping ??= stop(child, family, ended)),
  };
}

function startable({ command, args, cwd, env }: ProgramStart): WindowsCommand {
  if (process.platform !== 'win32') return { command, args, isVerbatim: false };
  const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
  return windowsCommand(command, args, { env, cwd, isFile });
}

/** The families still running, so that they do not outlive this process when it ends at once. */
const running = new Set<Family>();

function killRunning(): void {
  for (const family of running) killFamily(family);
}

function keepTrack(family: Family): void {
  if (running.size === 0) process.on('exit', killRunning);
  running.add(family);
}

function letGo(family: Family): void {
  running.delete(family);
  if (running.size === 0) process.off('exit', killRunning);
}

async function stop(
  child: ChildProcessWithoutNullStreams,
  family: Family | undefined,
  ended: Promise<ProgramEnd>,
): Promise<void> {
  child.stdin.end();
  if (family !== undefined) {
    await within(GRACE_MS, ended);
    await stopFamily(family);
    letGo(family);
  }
  child.stdin.destroy();
  child.stdout.destroy();
  child.stderr.destroy();
}

function endOf(child: ChildProcessWithoutNullStreams): Promise<ProgramEnd> {
  return new Promise((resolve) => {
    const closed = new Promise<void>((close) => void child.once('close', () => close()));
    const finish = (): void => {
      // A process it left behind may hold the pipes for ever.
      void within(LINGER_MS, closed).then(() => {
        child.stdout.destroy();
        resolve({ exitCode: child.exitCode, signal: child.signalCode });
      });
    };
    child.once('error', (error) => resolve({ failure: reasonOf(error), exitCode: null, signal: null }));
    child.once('exit', finish);
    child.stdout.once('close', finish);
  });
}

function within(ms: number, happening: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const stopTimer = startTimer(ms, resolve);
    void happening.then(() => {
      stopTimer();
      resolve();
    });
  });
}

function write({ stdin }: ChildProcessWithoutNullStreams, text: string): Promise<void> {
  return new Promise((resolve) => {
    if (stdin.destroyed || stdin.writableEnded) resolve();
    else stdin.write(text, () => resolve());
  });
}

async function* outputOf({ stdout }: ChildProcessWithoutNullStreams): AsyncGenerator<Uint8Array, void> {
  try {
    for await (const chunk of stdout) yield chunk;
  } catch {
    // It was cut off; `ended` tells.
  }
}

function readErrors({ stderr }: ChildProcessWithoutNullStreams): () => string {
  const decoder = new StringDecoder('utf8');
  let head: string | undefined;
  let text = '';
  stderr.on('data', (chunk: Buffer) => {
    text += decoder.write(chunk);
    if (text.length <= 2 * ERROR_CHARS) return;
    // Half a line may hold half a secret, which nobody would know for one.
    head ??= text.slice(0, text.lastIndexOf('\n', HEAD_CHARS) + 1);
    text = text.slice(-ERROR_CHARS);
  });
  return () => (head ?? '') + text;
}

function neverStarted(thrown: unknown): Program {
  return {
    write: async () => {},
    output: (async function* () {})(),
    errors: () => '',
    ended: Promise.resolve({ failure: reasonOf(thrown), exitCode: null, signal: null }),
    stop: async () => {},
  };
}

/** `GMN_MCP_DEPTH` counts how many servers stand behind each other. */
const PASSED = ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'TERM', 'LANG', 'TZ', 'TMPDIR', 'GMN_MCP_DEPTH'];

/** Without these few, programs on Windows do not even start. */
const PASSED_ON_WINDOWS = [
  ...['SystemRoot', 'SystemDrive', 'windir', 'ComSpec', 'PATHEXT', 'Path', 'TEMP', 'TMP', 'USERNAME', 'USERPROFILE'],
  ...['HOMEDRIVE', 'HOMEPATH', 'APPDATA', 'LOCALAPPDATA', 'ProgramData', 'ProgramFiles', 'ProgramFiles(x86)'],
];

/** A few harmless variables of ours, and what the program's user wrote for it. No key or token of ours gets in by itself. */
export function programEnvironment(env: Env, own: Readonly<Record<string, string>>): Record<string, string> {
  const locale = Object.keys(env).filter((name) => /^LC_[A-Z]+$/.test(name));
  const names = [...PASSED, ...locale, ...(process.platform === 'win32' ? PASSED_ON_WINDOWS : [])];
  const passed: Record<string, string> = {};
  for (const name of names) {
    const value = env[name];
    // Old shells take such a value for a function, and run it.
    if (value !== undefined && !value.startsWith('()')) passed[name] = value;
  }
  return { ...passed, ...own };
}

/** How many programs may be started at once: each keeps a core busy while it loads, and waits for much in between. */
export function programsAtOnce(): number {
  return 2 * availableParallelism();
}
