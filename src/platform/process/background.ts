import { AppError } from '../../core/error.ts';
import { settlesWithin } from '../../core/io.ts';
import { startTimer, systemClock } from '../runtime/clock.ts';
import { onProcessExit } from '../runtime/exit.ts';
import { killProcessTree, type ProcessTree, stopProcessTree } from './group.ts';
import {
  type CapturedText,
  collectOutput,
  type ShellCommand,
  type ShellEnding,
  type StartedShell,
  startShell,
} from './shell.ts';

export interface BackgroundOutput extends CapturedText {
  readonly command: string;
  readonly ending?: ShellEnding;
}

/** Commands that run while the model works. None outlives `close`, nor this process. */
export interface BackgroundCommands {
  start(command: ShellCommand): Promise<number>;
  /** Since it was last read. Waits up to `waitMs` for output or the end. Undefined if there is no such command. */
  read(id: number, waitMs: number, signal: AbortSignal): Promise<BackgroundOutput | undefined>;
  stop(id: number): Promise<BackgroundOutput | undefined>;
  /** Those that run, and the last that have ended. */
  list(): readonly ListedCommand[];
  close(): Promise<void>;
}

export interface ListedCommand extends Pick<BackgroundOutput, 'command' | 'ending'> {
  readonly id: number;
}

const MAX_COMMANDS = 8;
const MAX_CHARS = 1_000_000;
/** After output, how long to wait for the rest of a line and for the exit. */
const LINGER_MS = 100;
/** Delay for a command that prints faster than it is read: it must not keep this process busy. */
const THROTTLE_MS = 5;
const NEVER = new AbortController().signal;

interface Entry {
  readonly command: string;
  readonly tree: ProcessTree;
  take(): CapturedText;
  hasNews: boolean;
  readonly exited: Promise<unknown>;
  hasExited(): boolean;
  ending?: ShellEnding;
  ended: Promise<void>;
  requestStop(): void;
  readonly waiting: Set<() => void>;
}

export function createBackgroundCommands(): BackgroundCommands {
  const entries = new Map<number, Entry>();
  const starts = new Set<Promise<number>>();
  let lastId = 0;
  let isClosed = false;
  const listRunning = (): readonly Entry[] => [...entries.values()].filter(({ ending }) => ending === undefined);
  // Also after a second Ctrl+C, which exits at once.
  const killAll = (): void => {
    for (const { tree } of listRunning()) killProcessTree(tree);
  };
  let ignoreExit: (() => void) | undefined;
  const makeRoom = (): void => {
    if (listRunning().length + starts.size >= MAX_COMMANDS) throw tooManyCommandsError(entries);
    if (entries.size + starts.size < MAX_COMMANDS) return;
    const [oldest] = [...entries].find(([, { ending }]) => ending !== undefined) ?? [];
    if (oldest !== undefined) entries.delete(oldest);
  };
  const begin = async (command: ShellCommand): Promise<number> => {
    const started = await startShell(command);
    ignoreExit ??= onProcessExit(killAll);
    lastId += 1;
    entries.set(lastId, followCommand(command.command, started));
    return lastId;
  };
  return {
    async start(command) {
      if (isClosed) throw new AppError('usage', 'the run is over');
      makeRoom();
      const started = begin(command);
      starts.add(started);
      return started.finally(() => starts.delete(started));
    },
    async read(id, waitMs, signal) {
      const entry = entries.get(id);
      if (entry === undefined) return undefined;
      if (!entry.hasNews && entry.ending === undefined) await waitForNews(entry, waitMs, signal);
      if (entry.ending === undefined && entry.hasNews) await settlesWithin(entry.exited, LINGER_MS, systemClock);
      // Processes that it left running are being stopped, which takes three seconds at most.
      if (entry.hasExited()) await entry.ended;
      signal.throwIfAborted();
      return takeOutput(entry);
    },
    async stop(id) {
      const entry = entries.get(id);
      if (entry === undefined) return undefined;
      entry.requestStop();
      await entry.ended;
      return takeOutput(entry);
    },
    list: () => [...entries].map(([id, { command, ending }]) => ({ id, command, ending })),
    async close() {
      isClosed = true;
      await Promise.allSettled(starts);
      const left = listRunning();
      for (const entry of left) entry.requestStop();
      await Promise.all(left.map(({ ended }) => ended));
      ignoreExit?.();
    },
  };
}

function tooManyCommandsError(entries: ReadonlyMap<number, Entry>): AppError {
  const ids = [...entries].filter(([, { ending }]) => ending === undefined).map(([id]) => id);
  return new AppError('usage', `${MAX_COMMANDS} commands are running in the background`, {
    hint: `End one with stop_command first: ${ids.join(', ')}.`,
  });
}

function takeOutput(entry: Entry): BackgroundOutput {
  const { command, ending } = entry;
  entry.hasNews = false;
  return { command, ...entry.take(), ending };
}

function followCommand(command: string, { child, tree, watchdog }: StartedShell): Entry {
  const waiting = new Set<() => void>();
  const wake = (): void => {
    for (const notify of [...waiting]) notify();
  };
  let unread = 0;
  let isEnding = false;
  const output = collectOutput(child, {
    maxChars: MAX_CHARS,
    onOutput: (text) => {
      entry.hasNews = true;
      unread += text.length;
      wake();
      // While it is being stopped, only an escaped process can print this much; do not wait for that.
      const isThrottled = unread > MAX_CHARS && !isEnding;
      return isThrottled ? new Promise((resolve) => startTimer(THROTTLE_MS, resolve)) : undefined;
    },
  });
  let requestStop = (): void => {};
  const stopped = new Promise<'stop'>((resolve) => {
    requestStop = () => resolve('stop');
  });
  const exited = new Promise<'exit'>((resolve) => void child.once('exit', () => resolve('exit')));
  const end = async (): Promise<void> => {
    const reason = await Promise.race([exited, stopped]);
    isEnding = true;
    const mayHaveStrays = reason === 'exit' && !(await output.closesSoon());
    const { found, survivors } = await stopProcessTree(tree, mayHaveStrays);
    await output.waitUntilSettled(NEVER);
    watchdog.release();
    for (const stream of [child.stdout, child.stderr]) stream?.destroy();
    const strays = reason === 'exit' ? found : [];
    entry.ending = { exitCode: child.exitCode, signal: child.signalCode, strays, survivors };
    wake();
  };
  const entry: Entry = {
    ...{ command, tree, waiting, requestStop, exited, hasNews: false },
    hasExited: tree.hasLeaderEnded,
    take: () => {
      unread = 0;
      return output.take();
    },
    ended: end(),
  };
  return entry;
}

function waitForNews(entry: Entry, waitMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      stopTimer();
      entry.waiting.delete(finish);
      signal.removeEventListener('abort', finish);
      resolve();
    };
    const stopTimer = startTimer(waitMs, finish);
    entry.waiting.add(finish);
    signal.addEventListener('abort', finish, { once: true });
    if (signal.aborted) finish();
  });
}
