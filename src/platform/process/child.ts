import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { StringDecoder } from 'node:string_decoder';
import type { Confine, ProgramStart } from '../../core/confine.ts';
import { settlesWithin } from '../../core/io.ts';
import { systemClock } from '../runtime/clock.ts';
import { errorReason } from '../runtime/system.ts';
import { spawnConfined } from './confine.ts';
import { hasChildEnded, killProcessTree, type ProcessTree, startWatchdog, stopProcessTree } from './group.ts';
import { resolveCommand } from './windows-command.ts';

interface StartOptions extends ProgramStart {
  /** Absent: it may do all that the user may. */
  readonly confine?: Confine;
  /** `App.onExit`: kills the program if this process exits without stopping it. */
  readonly onExit: (action: () => void) => () => void;
}

export interface ProgramEnd {
  readonly failure?: string;
  /** Null, with `signal` null as well, if it still runs and has only closed its output. */
  readonly exitCode: number | null;
  readonly signal: string | null;
}

export interface Program {
  /** Resolves when there is room for more, or the program no longer reads. Never rejects. */
  write(text: string): Promise<void>;
  /** Its standard output. Must be read, or the program blocks. Never throws. */
  readonly output: AsyncIterable<Uint8Array>;
  /** The first and last lines of its standard error, which is always read. Untrusted text. */
  errors(): string;
  /** Resolves when it has ended or closed its output, and no more output will come. */
  readonly ended: Promise<ProgramEnd>;
  /** Closes its input, then stops it and its children, see `stopProcessTree`. Never rejects; may be called twice. */
  stop(): Promise<void>;
}

const ERROR_CHARS = 64 * 1024;
const HEAD_CHARS = 8 * 1024;
/** How long a program may take to exit after its input is closed; some never do. */
const GRACE_MS = 300;
const LINGER_MS = 200;

/** In a process group of its own, which ends with this process, however that ends. No shell. */
export function startProgram({ confine, onExit, ...given }: StartOptions): Program {
  // The user decides about the environment here, so it has no marker, and only the process group is stopped.
  const marker = randomUUID();
  const watchdog = startWatchdog(marker);
  let child: ChildProcessWithoutNullStreams;
  try {
    const confined = confine?.(given);
    const start = confined ?? given;
    const { command, args, isVerbatim } = resolveCommand(start);
    const options = {
      ...{ windowsVerbatimArguments: isVerbatim, detached: process.platform !== 'win32', windowsHide: true },
    };
    child =
      confined === undefined
        ? spawn(command, args, { ...options, cwd: start.cwd, env: start.env })
        : // The first three are pipes, whatever follows.
          (spawnConfined(
            { ...confined, command, args },
            ['pipe', 'pipe', 'pipe'],
            options,
          ) as ChildProcessWithoutNullStreams);
  } catch (thrown) {
    watchdog.release();
    return failedProgram(thrown);
  }
  const { sinceMs } = watchdog;
  const hasLeaderEnded = (): boolean => hasChildEnded(child);
  const tree = child.pid === undefined ? undefined : { leader: child.pid, marker, sinceMs, hasLeaderEnded };
  if (tree === undefined) watchdog.release();
  else watchdog.follow(tree.leader);
  const cancelKill = tree && onExit(() => killProcessTree(tree));
  const release = (): void => {
    cancelKill?.();
    watchdog.release();
  };
  const errors = readErrors(child);
  // `ended` reports the end; a write after it is not an error.
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', () => {});
  const ended = waitForProgramEnd(child);
  let stopping: Promise<void> | undefined;
  return {
    write: (text) => write(child, text),
    output: streamOutput(child),
    errors,
    ended,
    stop: () => (stopping ??= stop(child, tree, ended).finally(release)),
  };
}

async function stop(
  child: ChildProcessWithoutNullStreams,
  tree: ProcessTree | undefined,
  ended: Promise<ProgramEnd>,
): Promise<void> {
  child.stdin.end();
  if (tree !== undefined) {
    await settlesWithin(ended, GRACE_MS, systemClock);
    await stopProcessTree(tree);
  }
  child.stdin.destroy();
  child.stdout.destroy();
  child.stderr.destroy();
}

function waitForProgramEnd(child: ChildProcessWithoutNullStreams): Promise<ProgramEnd> {
  return new Promise((resolve) => {
    const closed = new Promise<void>((close) => void child.once('close', () => close()));
    const finish = (): void => {
      // A process that it left behind may keep the pipes open for ever.
      void settlesWithin(closed, LINGER_MS, systemClock).then(() => {
        child.stdout.destroy();
        resolve({ exitCode: child.exitCode, signal: child.signalCode });
      });
    };
    child.once('error', (error) => resolve({ failure: errorReason(error), exitCode: null, signal: null }));
    child.once('exit', finish);
    child.stdout.once('close', finish);
  });
}

function write({ stdin }: ChildProcessWithoutNullStreams, text: string): Promise<void> {
  return new Promise((resolve) => {
    if (stdin.destroyed || stdin.writableEnded) resolve();
    else stdin.write(text, () => resolve());
  });
}

async function* streamOutput({ stdout }: ChildProcessWithoutNullStreams): AsyncGenerator<Uint8Array, void> {
  try {
    for await (const chunk of stdout) yield chunk;
  } catch {
    // `ended` says why.
  }
}

function readErrors({ stderr }: ChildProcessWithoutNullStreams): () => string {
  const decoder = new StringDecoder('utf8');
  let head: string | undefined;
  let text = '';
  stderr.on('data', (chunk: Buffer) => {
    text += decoder.write(chunk);
    if (text.length <= 2 * ERROR_CHARS) return;
    // Cut at a line break: half a line may hold half a secret, which redaction would not recognize.
    head ??= text.slice(0, text.lastIndexOf('\n', HEAD_CHARS) + 1);
    text = text.slice(-ERROR_CHARS);
  });
  return () => (head ?? '') + text;
}

function failedProgram(thrown: unknown): Program {
  return {
    write: async () => {},
    output: (async function* () {})(),
    errors: () => '',
    ended: Promise.resolve({ failure: errorReason(thrown), exitCode: null, signal: null }),
    stop: async () => {},
  };
}

/** More than one per core, because a program that loads often waits. */
export function maxProgramsAtOnce(): number {
  return 2 * availableParallelism();
}
