import { spawn } from 'node:child_process';
import { AppError } from '../../core/error.ts';
import type { Env } from '../../core/io.ts';
import { reasonOf } from '../runtime/system.ts';
import type { Shell } from './shell-choice.ts';
import { FROM_PATH_ONLY } from './windows-command.ts';

export interface FedCommand {
  readonly shell: Shell;
  readonly command: string;
  /** What it reads. */
  readonly input: string;
  readonly cwd: string;
  /** The person's own command: it gets all of it. */
  readonly env: Env;
}

/**
 * Runs a command of the person's, hands it a text, and lets it write to our stderr, so that stdout stays ours. Resolves
 * with its exit code, 1 if a signal ended it. Throws the signal's reason, and AppError `usage` if it cannot be started.
 */
export function feedCommand({ shell, command, input, cwd, env }: FedCommand, signal: AbortSignal): Promise<number> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const child = spawn(shell.path, [...shell.args, shell.isVerbatim ? `"${command}"` : command], {
      cwd,
      env: process.platform === 'win32' ? { ...env, ...FROM_PATH_ONLY } : env,
      stdio: ['pipe', 2, 2],
      windowsHide: true,
      windowsVerbatimArguments: shell.isVerbatim,
    });
    const stop = (): void => void child.kill();
    signal.addEventListener('abort', stop, { once: true });
    child.once('error', (cause) =>
      reject(
        new AppError('usage', `cannot start ${shell.path}: ${reasonOf(cause)}`, {
          cause,
          hint: 'Check --shell, and the command.',
        }),
      ),
    );
    child.once('close', (code) => {
      signal.removeEventListener('abort', stop);
      if (signal.aborted) reject(signal.reason);
      else resolve(code ?? 1);
    });
    // It may have ended without reading.
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
  });
}
