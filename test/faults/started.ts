import { spawn as spawnChild } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { spawn as spawnPty } from '@lydell/node-pty';
import type { Format, Way } from './fault.ts';

/** A run that is over. On a terminal `stdout` holds all that was shown, and `stderr` is empty. */
export interface Ended {
  readonly way: Way;
  readonly stdout: string;
  readonly stderr: string;
  readonly bytes: Buffer;
  readonly code: number | null;
  readonly signal: string | null;
  /** Whether it had to be ended. */
  readonly isHung: boolean;
  /** What it ever held, if that is known. */
  readonly peakMb: number | undefined;
  /** The terminal's modes before and after, if there was one and it is still there. */
  readonly modes: readonly string[] | undefined;
}

export interface Started {
  readonly pid: number;
  /** Resolves with the output once it matches; rejects with it if the run ends first. */
  until(pattern: RegExp): Promise<string>;
  /** What was put out so far, both streams in one. */
  output(): string;
  /** Types, or writes to stdin. */
  write(text: string): void;
  /** Ends stdin. */
  endInput(): void;
  signal(name: NodeJS.Signals): void;
  resize(columns: number, rows: number): void;
  /** The terminal is gone. */
  hangUp(): void;
  /** Nobody reads stdout any more. */
  stopReading(): void;
  readonly ended: Promise<Ended>;
}

export interface Launch {
  readonly way: Way;
  readonly command: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Bytes for stdin, which is then ended; `open`: a pipe that stays open. Without it stdin is /dev/null. */
  readonly stdin?: string | Uint8Array | 'open';
  readonly columns?: number;
  /** Where the run leaves what only it knows. */
  readonly notes: string;
  readonly withinMs: number;
  /** Ends everything that belongs to it. */
  kill(): void;
}

/** Starts a program in a pipe or on a terminal. */
export function start(launch: Launch): Started {
  return launch.way.surface === 'terminal' ? startOnTerminal(launch) : startInPipe(launch);
}

interface Watch {
  readonly ended: Promise<Ended>;
  add(bytes: Buffer, isStdout: boolean): void;
  until(pattern: RegExp): Promise<string>;
  output(): string;
  /** Counts once. */
  end(ending: Ending): void;
}

type Ending = Pick<Ended, 'code' | 'signal'>;

function watch({ way, withinMs, kill, notes }: Launch): Watch {
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  let output = '';
  let isOver = false;
  let isHung = false;
  let wake: (() => void)[] = [];
  let finish: (ended: Ended) => void = () => {};
  const ended = new Promise<Ended>((resolve) => (finish = resolve));
  const timer = setTimeout(() => {
    isHung = true;
    kill();
  }, withinMs);
  const rouse = (): void => {
    const sleepers = wake;
    wake = [];
    for (const resolve of sleepers) resolve();
  };
  return {
    ended,
    output: () => output,
    add(bytes, isStdout) {
      (isStdout ? out : err).push(bytes);
      output += bytes.toString('utf8');
      rouse();
    },
    async until(pattern) {
      while (!pattern.test(output)) {
        if (isOver) throw new Error(`ended before ${pattern}:\n${output.slice(-2000)}`);
        await new Promise<void>((resolve) => wake.push(resolve));
      }
      return output;
    },
    end(ending) {
      if (isOver) return;
      clearTimeout(timer);
      isOver = true;
      rouse();
      const bytes = Buffer.concat(out);
      const stderr = Buffer.concat(err).toString('utf8');
      finish({ way, stdout: bytes.toString('utf8'), stderr, bytes, ...ending, isHung, ...notesOf(notes) });
    },
  };
}

function notesOf(notes: string): Pick<Ended, 'peakMb' | 'modes'> {
  const read = (name: string): string | undefined =>
    existsSync(`${notes}.${name}`) ? readFileSync(`${notes}.${name}`, 'utf8').trim() : undefined;
  const memory = read('memory');
  const [before, after] = [read('before'), read('after')];
  return {
    peakMb: memory ? Number(memory) / 1024 : undefined,
    modes: before && after ? [before, after] : undefined,
  };
}

function startInPipe(launch: Launch): Started {
  const [file, ...args] = launch.command;
  const { cwd, env, stdin } = launch;
  const child = spawnChild(file, args, { cwd, env, stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'] });
  const seen = watch(launch);
  child.stdout?.on('data', (bytes: Buffer) => seen.add(bytes, true));
  child.stderr?.on('data', (bytes: Buffer) => seen.add(bytes, false));
  child.stdin?.on('error', () => {});
  if (stdin !== undefined && stdin !== 'open') child.stdin?.end(stdin);
  child.on('close', (code, signal) => seen.end({ code, signal }));
  return {
    ...seen,
    pid: child.pid ?? 0,
    write: (text) => void child.stdin?.write(text),
    endInput: () => void child.stdin?.end(),
    signal: (name) => void child.kill(name),
    resize: () => {},
    hangUp: () => {},
    stopReading: () => void child.stdout?.destroy(),
  };
}

/**
 * The shell keeps the terminal, so that what the program leaves of it can be seen; and until its end mark was read, since
 * what is still in a terminal that everybody has left may be lost.
 */
const WRAPPER =
  'trap : INT TERM QUIT; stty -g >"$GMN_RIG_NOTES.before"; ' +
  '"$@"; code=$?; stty -g >"$GMN_RIG_NOTES.after" 2>/dev/null; printf "\\036%d\\036" $code; read -r ack; exit $code';
const END_MARK = /\u001e(\d+)\u001e/;

function startOnTerminal(launch: Launch): Started {
  const { command, cwd, env, columns = 100, notes } = launch;
  const pty = spawnPty('sh', ['-c', WRAPPER, 'sh', ...command], {
    cwd,
    env: { TERM: 'xterm-256color', ...env, GMN_RIG_NOTES: notes },
    cols: columns,
    rows: 30,
    encoding: null,
  });
  const seen = watch(launch);
  let isMarked = false;
  /** What may be the start of the mark. */
  let held = '';
  pty.onData((data: string | Buffer) => {
    if (isMarked) return;
    const [text = '', code] = `${held}${data.toString('latin1')}`.split(END_MARK);
    isMarked = code !== undefined;
    held = isMarked ? '' : (/\u001e\d*$/.exec(text)?.[0] ?? '');
    const shown = text.slice(0, text.length - held.length);
    seen.add(Buffer.from(shown, 'latin1'), true);
    if (!isMarked) return;
    seen.end(exitOf(Number(code)));
    pty.write('\n');
  });
  pty.onExit(({ exitCode, signal }) =>
    seen.end({ code: signal ? null : exitCode, signal: signal ? `${signal}` : null }),
  );
  return {
    ...seen,
    pid: pty.pid,
    write: (text) => pty.write(text),
    endInput: () => pty.write('\x04'),
    signal: (name) => {
      const child = childOf(pty.pid);
      if (child !== undefined) process.kill(child, name);
    },
    resize: (width, height) => pty.resize(width, height),
    hangUp: () => {
      Reflect.get(pty, 'destroy').call(pty);
      void gone(pty.pid).then(() => seen.end({ code: null, signal: 'SIGHUP' }));
    },
    stopReading: () => {},
  };
}

/** A shell says 128 and more of a program that a signal ended; gmn says some of these itself. */
function exitOf(code: number): Ending {
  return code === 137 ? { code: null, signal: 'SIGKILL' } : { code, signal: null };
}

/** Resolves when there is no such process. */
async function gone(pid: number): Promise<void> {
  while (existsSync(`/proc/${pid}/fd`)) await new Promise((resolve) => setTimeout(resolve, 10));
}

function childOf(pid: number): number | undefined {
  const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  return child ? Number(child) : undefined;
}

/** The arguments that ask for a format. */
export function formatFlags(format: Format): readonly string[] {
  return format === 'none' || format === 'text' ? [] : ['-o', format];
}
