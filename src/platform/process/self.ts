import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AppError } from '../../core/error.ts';
import type { Env } from '../../core/io.ts';
import { isStandalone } from '../runtime/system.ts';

export interface SelfRun {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Env;
  readonly input?: string;
  /** It uses our terminal, and its output is not collected. */
  readonly isAttached?: boolean;
}

export interface SelfResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

export function runSelf(run: SelfRun, signal: AbortSignal): Promise<SelfResult> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const args = isStandalone() ? run.args : [process.argv[1] ?? '', ...run.args];
    const output = run.isAttached ? 'inherit' : 'pipe';
    const input = run.isAttached && run.input === undefined ? 'inherit' : 'pipe';
    const stdio = [input, output, output] as const;
    const options = { cwd: run.cwd, env: run.env, windowsHide: true, stdio: [...stdio], signal };
    const child = spawn(process.execPath, args, options);
    let stdout = '';
    let stderr = '';
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      stdout += chunk;
    });
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      stderr += chunk;
    });
    child.on('error', (error) => reject(signal.aborted ? signal.reason : error));
    child.on('close', (code) => resolve({ stdout, stderr, exitCode: code ?? 1 }));
    // It may exit without reading.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(run.input ?? '');
  });
}

/** Only this user can enter it. */
export async function createScratchDirectory(prefix: string, files: Readonly<Record<string, string>> = {}) {
  const path = await mkdtemp(join(tmpdir(), prefix)).catch((cause: unknown) => {
    const hint = 'Check the free space and the permissions there, or name another place with TMPDIR.';
    throw new AppError('config', `cannot create a directory in ${tmpdir()}`, { hint, cause });
  });
  for (const [name, text] of Object.entries(files)) await writeFile(join(path, name), text);
  return {
    path,
    // A child that was stopped may still be writing.
    remove: () => rm(path, { recursive: true, force: true, maxRetries: 5 }),
    /** For an exit that waits for nothing. */
    removeNow: () => rmSync(path, { recursive: true, force: true }),
  };
}
