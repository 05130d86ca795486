import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { Confine } from '../../core/confine.ts';
import { AppError } from '../../core/error.ts';
import { type Env, settlesWithin } from '../../core/io.ts';
import { startTimer, systemClock } from '../runtime/clock.ts';
import { onProcessExit } from '../runtime/exit.ts';
import { errorReason } from '../runtime/system.ts';
import { MARKER, shellEnvironment } from './environment.ts';
import {
  hasChildEnded,
  killProcessTree,
  type ProcessTree,
  startWatchdog,
  stopProcessTree,
  type Watchdog,
} from './group.ts';
import type { FoundProcess } from './identity.ts';
import { listShellArguments, type Shell } from './shell-choice.ts';

export interface ShellCommand {
  readonly shell: Shell;
  readonly command: string;
  readonly cwd: string;
  /** Little of it is passed on; see `shellEnvironment`. */
  readonly env: Env;
  /** Absent: it may do all that the user may. */
  readonly confine?: Confine;
  /** Set in addition. */
  readonly variables?: Readonly<Record<string, string>>;
  /** What it reads. Absent: nothing. */
  readonly input?: string;
}

export type RunShell = typeof runShell;

export interface ShellRun extends ShellCommand, OutputOptions {
  readonly timeoutMs: number;
}

interface OutputOptions {
  readonly maxChars: number;
  /** Default: stdout and stderr, as they come. */
  readonly streams?: readonly (Readable | null)[];
  /** Called with each piece of output as it comes; nothing more is read until a promise it returns has resolved. */
  readonly onOutput?: (text: string) => Promise<void> | undefined | void;
}

/** stdout and stderr as they came; if there was too much, `omitted` characters are missing between `head` and `tail`. */
export interface CapturedText {
  readonly head: string;
  readonly tail: string;
  readonly omitted: number;
}

export interface ShellEnding {
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** Processes it left running when it exited by itself; they were stopped. */
  readonly strays: readonly FoundProcess[];
  readonly survivors: readonly FoundProcess[];
}

export interface ShellResult extends CapturedText, ShellEnding {
  readonly hasTimedOut: boolean;
  readonly silentMs: number;
}

const LINGER_MS = 200;
/** The limit while output keeps coming. */
const MAX_LINGER_MS = 1000;

/** In a process group of its own, without input. All it has started is stopped at its end. Throws AppError `usage`. */
export async function runShell(run: ShellRun, signal: AbortSignal): Promise<ShellResult> {
  signal.throwIfAborted();
  const { child, tree, watchdog } = await startShell(run);
  // A second Ctrl+C exits at once, which must not leave the child running.
  const ignoreExit = onProcessExit(() => killProcessTree(tree));
  try {
    const output = collectOutput(child, run);
    const ending = await waitForExit(child, run.timeoutMs, signal);
    const silentMs = output.silentMs();
    const mayHaveStrays = ending === 'exit' && !(await output.closesSoon());
    const { found, survivors } = await stopProcessTree(tree, mayHaveStrays);
    await output.waitUntilSettled(signal);
    signal.throwIfAborted();
    return {
      ...output.take(),
      exitCode: child.exitCode,
      signal: child.signalCode,
      hasTimedOut: ending === 'timeout',
      silentMs,
      strays: ending === 'exit' ? found : [],
      survivors,
    };
  } finally {
    ignoreExit();
    watchdog.release();
    child.stdout?.destroy();
    child.stderr?.destroy();
  }
}

export interface StartedShell {
  readonly child: ChildProcess;
  readonly tree: ProcessTree;
  readonly watchdog: Watchdog;
}

export async function startShell(wanted: ShellCommand): Promise<StartedShell> {
  const { shell, command, cwd, env, variables, input, confine } = wanted;
  const { spawnConfined } = confine === undefined ? {} : await import('./confine.ts');
  const marker = randomUUID();
  const watchdog = startWatchdog(marker);
  return new Promise((resolve, reject) => {
    const failStart = (cause: unknown): void => {
      watchdog.release();
      const hint = 'Check that both are there, and may be used.';
      const message = `cannot start ${shell.path} in ${cwd}: ${errorReason(cause)}`;
      reject(cause instanceof AppError ? cause : new AppError('usage', message, { cause, hint }));
    };
    try {
      const given = {
        ...{ command: shell.path, args: listShellArguments(shell, command), cwd },
        env: {
          ...shellEnvironment(env, shell),
          ...variables,
          [MARKER]: [env[MARKER], marker].filter(Boolean).join(':'),
        },
      };
      const stdio = [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'] as const;
      const options = {
        ...{ detached: process.platform !== 'win32', windowsHide: true, windowsVerbatimArguments: shell.isVerbatim },
      };
      const child =
        spawnConfined === undefined || confine === undefined
          ? spawn(given.command, given.args, { ...options, cwd, env: given.env, stdio: [...stdio] })
          : spawnConfined(confine(given), stdio, options);
      child.once('error', failStart);
      // It may exit without reading.
      child.stdin?.on('error', () => {});
      child.stdin?.end(input);
      const leader = child.pid;
      if (leader === undefined) return;
      watchdog.follow(leader);
      const tree = { leader, marker, sinceMs: watchdog.sinceMs, hasLeaderEnded: () => hasChildEnded(child) };
      child.once('spawn', () => resolve({ child, tree, watchdog }));
    } catch (thrown) {
      // For instance a command that contains a NUL.
      failStart(thrown);
    }
  });
}

export function collectOutput(child: ChildProcess, { maxChars, onOutput, streams }: OutputOptions) {
  let text = cappedText(maxChars);
  let lastMs = performance.now();
  let onData = (): void => {};
  let paused = 0;
  const resume = (stream: Readable): void => {
    paused -= 1;
    stream.resume();
    onData();
  };
  const add = (piece: string, stream: Readable): void => {
    text.add(piece);
    const shown = piece === '' ? undefined : onOutput?.(piece);
    if (shown === undefined) return;
    paused += 1;
    stream.pause();
    const next = (): void => resume(stream);
    void shown.then(next, next);
  };
  for (const stream of streams ?? [child.stdout, child.stderr]) {
    // One decoder per stream: chunks may end inside a character.
    const decoder = new StringDecoder('utf8');
    stream?.on('data', (chunk: Buffer) => {
      lastMs = performance.now();
      add(decoder.write(chunk), stream);
      onData();
    });
    stream?.once('end', () => add(decoder.end(), stream));
  }
  const closed = new Promise<void>((resolve) => void child.once('close', () => resolve()));
  return {
    take: (): CapturedText => {
      const taken = text.read();
      text = cappedText(maxChars);
      return taken;
    },
    silentMs: () => performance.now() - lastMs,
    /** Asked on Windows only, where it saves a list of all processes: whoever still runs there holds the pipes, as a rule. */
    closesSoon: async () => process.platform !== 'win32' || settlesWithin(closed, LINGER_MS, systemClock),
    /** Resolves when everything was read, at an abort, or after a moment if a surviving process holds the pipes. */
    waitUntilSettled: (signal: AbortSignal) =>
      new Promise<void>((resolve) => {
        const finish = (): void => {
          onData = () => {};
          stopQuiet();
          stopLatest();
          signal.removeEventListener('abort', finish);
          resolve();
        };
        const startQuiet = (): (() => void) => startTimer(LINGER_MS, () => (paused > 0 ? onData() : finish()));
        const startLatest = (): (() => void) =>
          startTimer(MAX_LINGER_MS, () => {
            if (paused > 0) stopLatest = startLatest();
            else finish();
          });
        let stopQuiet = startQuiet();
        let stopLatest = startLatest();
        onData = () => {
          stopQuiet();
          stopQuiet = startQuiet();
        };
        signal.addEventListener('abort', finish, { once: true });
        if (signal.aborted) finish();
        void closed.then(finish);
      }),
  };
}

/** Waits for the shell itself, not for its pipes: a process that it left behind may keep them open for ever. */
export function waitForExit(
  child: ChildProcess,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<'exit' | 'timeout' | 'abort'> {
  return new Promise((resolve) => {
    const finish = (ending: 'exit' | 'timeout' | 'abort') => (): void => {
      stopTimer();
      signal.removeEventListener('abort', onAbort);
      resolve(ending);
    };
    const onAbort = finish('abort');
    const stopTimer = startTimer(timeoutMs, finish('timeout'));
    signal.addEventListener('abort', onAbort, { once: true });
    child.once('exit', finish('exit'));
    // It may have aborted while the shell was started.
    if (signal.aborted) onAbort();
  });
}

/** Keeps about half of `maxChars` at either end, never half a character. Holds at most twice that in memory. */
export function cappedText(maxChars: number) {
  const half = Math.floor(maxChars / 2);
  let head = '';
  let recent: string[] = [];
  let recentLength = 0;
  let total = 0;
  const squeeze = (): void => {
    const end = recent.join('').slice(-half);
    recent = [end];
    recentLength = end.length;
  };
  return {
    add(text: string) {
      total += text.length;
      const room = half - head.length;
      if (room > 0) head += text.slice(0, room);
      const rest = text.slice(Math.max(room, 0));
      if (rest === '') return;
      recent.push(rest);
      recentLength += rest.length;
      if (recentLength > 2 * half) squeeze();
    },
    read(): CapturedText {
      squeeze();
      const tail = recent.join('');
      const omitted = total - head.length - tail.length;
      if (omitted === 0) return { head: head + tail, tail: '', omitted };
      const start = head.replace(/[\ud800-\udbff]$/, '');
      const end = tail.replace(/^[\udc00-\udfff]/, '');
      return { head: start, tail: end, omitted: total - start.length - end.length };
    },
  };
}
