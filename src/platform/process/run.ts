import { spawn } from 'node:child_process';
import { AppError } from '../../core/error.ts';
import type { Env } from '../../core/io.ts';
import { errorReason } from '../runtime/system.ts';
import { helperEnvironment } from './environment.ts';
import { findHelper } from './program-path.ts';
import { listShellArguments, type Shell } from './shell-choice.ts';
import { FROM_PATH_ONLY, resolveCommand, windowsProgram } from './windows-command.ts';

interface CommandWithInput {
  readonly shell: Shell;
  readonly command: string;
  readonly input: string;
  readonly cwd: string;
  /** Passed on completely: it is the user's own command. */
  readonly env: Env;
}

/** Throws AppError `usage` if it cannot be started. */
export async function feedCommand(
  { shell, command, input, cwd, env }: CommandWithInput,
  signal: AbortSignal,
): Promise<number> {
  const args = listShellArguments(shell, command);
  const given = process.platform === 'win32' ? { ...env, ...FROM_PATH_ONLY } : env;
  const run = { program: shell.path, args, isVerbatim: shell.isVerbatim, input, cwd, env: given };
  try {
    return await feedProgram(run, signal);
  } catch (cause) {
    signal.throwIfAborted();
    throw new AppError('usage', `cannot start ${shell.path}: ${errorReason(cause)}`, {
      cause,
      hint: 'Check --shell, and the command.',
    });
  }
}

interface ProgramWithInput {
  readonly program: string;
  readonly args: readonly string[];
  /** Windows: the arguments must not be quoted again. */
  readonly isVerbatim?: boolean;
  readonly input: string | Uint8Array;
  readonly cwd: string;
  readonly env: Env;
}

/** Its output goes to our stderr. Resolves with the exit code, 1 after a signal. Throws system errors. */
export function feedProgram(
  { program, args, isVerbatim, input, cwd, env }: ProgramWithInput,
  signal: AbortSignal,
): Promise<number> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const child = spawn(program, args, {
      ...{ cwd, env, stdio: ['pipe', 2, 2], windowsHide: true, windowsVerbatimArguments: isVerbatim },
    });
    const stop = (): void => void child.kill();
    signal.addEventListener('abort', stop, { once: true });
    child.once('error', reject);
    child.once('close', (code) => {
      signal.removeEventListener('abort', stop);
      if (signal.aborted) reject(signal.reason);
      else resolve(code ?? 1);
    });
    // It may exit without reading.
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
  });
}

/** `BROWSER`, else the system's; false if none starts. No shell sees the URL: pass https or loopback only. */
export function openBrowser(url: string, env: Env, platform: string = process.platform): Promise<boolean> {
  const [name = '', ...args] = env.BROWSER ? [env.BROWSER] : findSystemBrowser(platform, env);
  const cwd = process.cwd();
  const program = env.NO_BROWSER ? undefined : findHelper(name, env, [cwd]);
  if (program === undefined) return Promise.resolve(false);
  const given = helperEnvironment(env, [cwd]);
  return new Promise((resolve) => {
    try {
      const start = resolveCommand({ command: program, args: [...args, url], cwd, env: given });
      const child = spawn(start.command, start.args, {
        ...{ stdio: 'ignore', detached: true, env: given, windowsVerbatimArguments: start.isVerbatim },
      });
      child.once('error', () => resolve(false));
      child.once('spawn', () => {
        child.unref();
        resolve(true);
      });
    } catch {
      resolve(false);
    }
  });
}

function findSystemBrowser(platform: string, env: Env): readonly string[] {
  if (platform === 'darwin') return ['open'];
  return platform === 'win32' ? [windowsProgram('rundll32', env), 'url.dll,FileProtocolHandler'] : ['xdg-open'];
}

interface OutputRun {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly maxMs: number;
  /** Takes the output so far and returns the incomplete rest; undefined stops the program. */
  readonly take: (printed: Buffer) => Buffer | undefined;
}

interface OutputEnd {
  readonly stopped: 'enough' | 'time' | undefined;
  readonly code: number | undefined;
  readonly hasPrinted: boolean;
}

/** To its end, or until `take` has enough. Throws the signal's reason at once and kills the process. */
export function readOutput({ program, args, cwd, maxMs, take }: OutputRun, signal: AbortSignal): Promise<OutputEnd> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    let stopped: OutputEnd['stopped'];
    let rest: Buffer = Buffer.alloc(0);
    let hasPrinted = false;
    // An empty environment: some variables change what a program prints.
    const child = spawn(program, args, {
      ...{ cwd, env: {}, stdio: ['ignore', 'pipe', 'ignore'], windowsHide: true, signal, killSignal: 'SIGKILL' },
    });
    const stop = (why: OutputEnd['stopped']): void => {
      stopped ??= why;
      child.kill('SIGKILL');
    };
    const timer = setTimeout(() => stop('time'), maxMs);
    const finish = (code: number | null): void => {
      clearTimeout(timer);
      if (signal.aborted) reject(signal.reason);
      else resolve({ stopped, code: code ?? undefined, hasPrinted });
    };
    child.stdout.on('data', (chunk: Buffer) => {
      if (stopped !== undefined) return;
      hasPrinted = true;
      const left = take(rest.length === 0 ? chunk : Buffer.concat([rest, chunk]));
      if (left === undefined) stop('enough');
      else rest = left;
    });
    child.on('error', () => finish(null));
    child.on('close', finish);
  });
}
