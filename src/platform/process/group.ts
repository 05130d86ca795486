import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { nextTurn, systemClock } from '../runtime/clock.ts';
import { helperEnvironment } from './environment.ts';
import type { FoundProcess } from './identity.ts';
import { windowsProgram } from './windows-command.ts';

export interface ProcessTree {
  readonly leader: number;
  /** A text found in the environment of every process of the tree (unless one drops it), and of no other. */
  readonly marker: string;
  /** The system's time just before the leader was started. */
  readonly sinceMs: number;
  /** Whether its end was noticed. From then on Windows may give its number to another process. */
  readonly hasLeaderEnded: () => boolean;
}

const KILL_AFTER_MS = 2000;
const GIVE_UP_AFTER_MS = 3000;
const POLL_MS = 25;

/**
 * Stops a process tree: TERM, and KILL two seconds later. Processes that left the group are found by their marker,
 * where /proc exists. One that also dropped its environment (`env -i setsid …`) is not found and keeps running.
 * Resolves when none is left, with those found at first; `survivors` could not be stopped. On Windows nothing is asked first, and strays
 * of a leader that has ended are looked for only if there may be some, which takes up to a second.
 */
export async function stopProcessTree(
  tree: ProcessTree,
  mayHaveStrays = false,
): Promise<{ readonly found: readonly FoundProcess[]; readonly survivors: readonly FoundProcess[] }> {
  if (process.platform === 'win32') {
    killProcessTree(tree);
    const found = mayHaveStrays ? await (await import('./windows-tree.ts')).stopStrays(tree) : [];
    return { found, survivors: [] };
  }
  // To look through all processes takes some 10 ms: whoever waits for the end of a run that was cancelled goes first.
  await nextTurn();
  // The last process of a pipeline may be about to exit by itself.
  if (findRunning(tree).length > 0) await pause();
  const startMs = performance.now();
  const found = findRunning(tree);
  for (let left = found, round = 0; ; left = findRunning(tree), round += 1) {
    const passedMs = performance.now() - startMs;
    if (left.length === 0 || passedMs >= GIVE_UP_AFTER_MS) return { found, survivors: left };
    if (round === 0 || passedMs >= KILL_AFTER_MS) {
      const name = passedMs >= KILL_AFTER_MS ? 'SIGKILL' : 'SIGTERM';
      for (const target of [-tree.leader, ...left.map(({ pid }) => pid)]) sendSignal(target, name);
    }
    await pause();
  }
}

export function hasChildEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, POLL_MS));
}

export function killProcessTree(tree: ProcessTree): void {
  const { leader } = tree;
  if (process.platform === 'win32') {
    if (tree.hasLeaderEnded()) return;
    const program = windowsProgram('taskkill', process.env);
    const env = helperEnvironment(process.env, []);
    spawnSync(program, ['/pid', String(leader), '/t', '/f'], { env, windowsHide: true });
  } else for (const target of [-leader, ...findRunning(tree).map(({ pid }) => pid)]) sendSignal(target, 'SIGKILL');
}

export interface Watchdog extends Pick<ProcessTree, 'sinceMs'> {
  follow(leader: number): void;
  release(): void;
}

/**
 * `$0` is the marker. A process may have forked meanwhile, and one that is being replaced by another program (`exec`) has no environment
 * for as long as that takes: it looks until nothing was found five times, a tenth of a second apart.
 */
const WATCH = `if read -r group; then
  read -r _
  kill -KILL "-$group"
fi
quiet=0
round=0
while [ $quiet -lt 5 ] && [ $round -lt 50 ]; do
  quiet=$((quiet + 1))
  round=$((round + 1))
  for file in $(grep -lsF "$0" /proc/[0-9]*/environ); do
    file=\${file#/proc/}
    kill -KILL "\${file%/environ}" && quiet=0
  done
  sleep 0.1
done`;

/**
 * Kills a process tree if this process is killed and cannot do it: the watchdog's input then ends. Start it before the
 * tree, because this process may be killed at any moment.
 */
export function startWatchdog(marker: ProcessTree['marker']): Watchdog {
  const sinceMs = systemClock.now();
  if (process.platform === 'win32') {
    const loading = import('./windows-tree.ts').then(({ startWindowsWatchdog }) =>
      guard(startWindowsWatchdog(sinceMs), sinceMs),
    );
    return {
      sinceMs,
      follow: (leader) => void loading.then(({ follow }) => follow(leader)),
      release: () => void loading.then(({ release }) => release()),
    };
  }
  return guard(
    spawn('/bin/sh', ['-c', WATCH, marker], {
      ...{ cwd: '/', env: { PATH: '/usr/bin:/bin' }, stdio: ['pipe', 'ignore', 'ignore'], detached: true },
    }),
    sinceMs,
  );
}

/** cmd.exe reads lines that end as those of Windows do. */
const END_OF_LINE = process.platform === 'win32' ? '\r\n' : '\n';

function guard(watchdog: ChildProcess, sinceMs: number): Watchdog {
  // Without a watchdog the command still ends with this process, unless this process is killed.
  watchdog.on('error', () => {});
  watchdog.stdin?.on('error', () => {});
  // A command that has ended but is not released, as after an error, must not keep this process alive.
  watchdog.unref();
  return {
    sinceMs,
    follow: (leader) => void watchdog.stdin?.write(`${leader}${END_OF_LINE}`),
    release: () => void watchdog.kill('SIGKILL'),
  };
}

function findRunning(tree: ProcessTree): readonly FoundProcess[] {
  const pids = listProcessIds();
  // Without /proc only the group as a whole can be probed; its id may outlive its processes.
  if (pids === undefined) return sendSignal(-tree.leader, 0) ? [{ pid: tree.leader, command: '' }] : [];
  return pids.flatMap((pid) => {
    if (!isMember(pid, tree)) return [];
    return [{ pid: Number(pid), command: readProcess(pid, 'cmdline').replaceAll('\0', ' ').trim() }];
  });
}

function isMember(pid: string, { leader, marker }: ProcessTree): boolean {
  // `pid (name) state parent group …`, where the name may contain anything.
  const [state, , group] = readProcess(pid, 'stat')
    .replace(/^[\s\S]*\) /, '')
    .split(' ', 3);
  if (state === undefined || state === 'Z' || state === 'X') return false;
  return group === String(leader) || readProcess(pid, 'environ').includes(marker);
}

function listProcessIds(): readonly string[] | undefined {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return undefined;
  }
}

function readProcess(pid: string, file: 'stat' | 'environ' | 'cmdline'): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return '';
  }
}

function sendSignal(target: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(target, name);
  } catch {
    return false;
  }
}
