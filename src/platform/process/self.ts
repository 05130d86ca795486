import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Env } from '../../core/io.ts';
import { isStandalone } from '../runtime/system.ts';

export interface SelfRun {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Env;
  /** What is piped into it; nothing unless given. */
  readonly input?: string;
}

export interface SelfResult {
  readonly stdout: string;
  readonly stderr: string;
  /** 1 if it was ended by a signal. */
  readonly exitCode: number;
}

/** Runs this very program with other arguments, to its end. Rejects with the signal's reason when that comes first. */
export function runSelf(run: SelfRun, signal: AbortSignal): Promise<SelfResult> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const args = isStandalone() ? run.args : [process.argv[1] ?? '', ...run.args];
    const child = spawn(process.execPath, args, { cwd: run.cwd, env: run.env, windowsHide: true });
    const stop = (): void => {
      child.kill();
      reject(signal.reason);
    };
    signal.addEventListener('abort', stop, { once: true });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      stdout += chunk;
    });
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      stderr += chunk;
    });
    child.on('error', reject);
    child.on('close', (code) => {
      signal.removeEventListener('abort', stop);
      resolve({ stdout, stderr, exitCode: code ?? 1 });
    });
    // It may have ended without reading.
    child.stdin.on('error', () => undefined);
    child.stdin.end(run.input ?? '');
  });
}

interface Scratch {
  readonly path: string;
  /** Removes the directory and all that is in it. */
  remove(): Promise<void>;
}

/** A new directory of our own for a while, with these files in it. */
export async function scratchDirectory(files: Readonly<Record<string, string>>): Promise<Scratch> {
  const path = await mkdtemp(join(tmpdir(), 'gmn-tour-'));
  for (const [name, text] of Object.entries(files)) await writeFile(join(path, name), text);
  return {
    path,
    // A child that was stopped may still be writing.
    remove: () => rm(path, { recursive: true, force: true, maxRetries: 5 }),
  };
}
