import { type ChildProcess, type SpawnOptions, type StdioOptions, spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
// As a whole: the build makes functions of what is imported by name from here.
import os from 'node:os';
import type { ConfinedStart } from '../../core/confine.ts';
import { AppError } from '../../core/error.ts';
import { errorReason } from '../runtime/system.ts';

/** `first` are its descriptors 0, 1 and 2; it gets no other one but its inputs. */
export function spawnConfined(
  start: ConfinedStart,
  first: readonly ('ignore' | 'pipe' | number)[],
  options: Omit<SpawnOptions, 'cwd' | 'env' | 'stdio'>,
): ChildProcess {
  const { command, args, cwd, env } = start;
  const nothing = openSync(os.devNull, 'r');
  try {
    const stdio: StdioOptions = [...first, ...start.inputs.map(() => 'pipe' as const)];
    for (const fd of listInheritedDescriptors()) {
      while (stdio.length < fd) stdio.push('ignore');
      stdio[fd] ??= nothing;
    }
    const child = spawn(command, args, { ...options, cwd, env, stdio });
    feedInputs(child, start);
    if (start.onEnd !== undefined) child.once('exit', start.onEnd).once('error', start.onEnd);
    return child;
  } finally {
    closeSync(nothing);
  }
}

/**
 * Those that gmn itself was started with, and hands on: a directory or a socket among them would lead out of any sandbox. Node closes the
 * first sixteen for its children, and further ones only up to the first gap.
 */
function listInheritedDescriptors(): readonly number[] {
  try {
    return readdirSync('/dev/fd')
      .map(Number)
      .filter((fd) => fd > 2 && isInherited(fd))
      .sort((one, other) => one - other);
  } catch {
    return [];
  }
}

const CLOSES_ON_EXEC = 0o2000000;

function isInherited(fd: number): boolean {
  // Others do not tell, and all are taken: whatever is gmn's own is closed for its children anyway.
  if (process.platform !== 'linux') return true;
  try {
    const [, flags = '0'] = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1')) ?? [];
    return (Number.parseInt(flags, 8) & CLOSES_ON_EXEC) === 0;
  } catch {
    // Closed since: the one by which the list was read.
    return false;
  }
}

function feedInputs(child: ChildProcess, { inputs }: ConfinedStart): void {
  for (const [index, bytes] of inputs.entries()) {
    const stream = child.stdio[index + 3];
    if (!stream || !('end' in stream)) continue;
    // A program that cannot be started reads nothing.
    stream.on('error', () => {});
    stream.end(bytes);
  }
}

/** On our own input and output. Resolves with the exit code; after a signal, as shells tell it. Throws AppError `usage`. */
export function runAttached(start: ConfinedStart, signal: AbortSignal): Promise<number> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const child = spawnConfined(start, [0, 1, 2], { windowsHide: true });
    const stop = (): void => void child.kill();
    signal.addEventListener('abort', stop, { once: true });
    child.once('error', (cause) =>
      reject(new AppError('usage', `cannot start ${start.command}: ${errorReason(cause)}`, { cause })),
    );
    child.once('exit', (code, name) => {
      signal.removeEventListener('abort', stop);
      if (signal.aborted) reject(signal.reason);
      else resolve(code ?? 128 + (name === null ? 0 : os.constants.signals[name]));
    });
  });
}
