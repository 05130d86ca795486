import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Confine, ConfinedStart, ProgramStart } from '../../core/confine.ts';
import { AppError } from '../../core/error.ts';
import { errorReason } from '../runtime/system.ts';

/** For `spawn`, with `toStdio` and `feedInputs`. */
export function confineIf(confine: Confine | undefined, start: ProgramStart): ConfinedStart {
  return confine === undefined ? { ...start, inputs: [] } : confine(start);
}

/** The first three as given, then a pipe for each of the inputs; `feedInputs` fills them. */
export function toStdio<First extends readonly unknown[]>(first: First, { inputs }: ConfinedStart): StdioOptions {
  return [...first, ...inputs.map(() => 'pipe' as const)] as StdioOptions;
}

export function feedInputs(child: ChildProcess, { inputs }: ConfinedStart): void {
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
    const { command, args, cwd, env } = start;
    const child = spawn(command, args, { cwd, env, stdio: toStdio([0, 1, 2], start), windowsHide: true });
    feedInputs(child, start);
    const stop = (): void => void child.kill();
    signal.addEventListener('abort', stop, { once: true });
    child.once('error', (cause) =>
      reject(new AppError('usage', `cannot start ${command}: ${errorReason(cause)}`, { cause })),
    );
    child.once('exit', (code, name) => {
      signal.removeEventListener('abort', stop);
      if (signal.aborted) reject(signal.reason);
      else resolve(code ?? 128 + (name === null ? 0 : constants.signals[name]));
    });
  });
}
