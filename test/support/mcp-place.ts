import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestContext } from 'vitest';
import { type GmnOptions, gmnCommand, place } from './gmn.ts';

/** The command line of a program in test/fixtures, as the settings have it. */
export function fixtureServer(name: string, ...args: readonly string[]) {
  const path = fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));
  return { command: process.execPath, args: [path, ...args] };
}

export interface Ran {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number | null;
}

/** A place for several runs, with these MCP servers in the user's settings. */
export function mcpPlace(t: TestContext, mcpServers: object = {}, options: GmnOptions = {}) {
  const here = place(t, options);
  const file = join(here.home, '.gemini', 'settings.json');
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  };
  if (!existsSync(file)) write(file, `${JSON.stringify({ mcpServers }, null, 2)}\n`);
  return {
    ...here,
    /** The user's settings file. */
    file,
    write,
    read: (path = file): string => readFileSync(path, 'utf8'),
    run: (args: readonly string[], stdin?: string): Promise<Ran> => run(t, { ...here, args, stdin }),
  };
}

interface Run {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly args: readonly string[];
  readonly stdin: string | undefined;
}

function run(t: TestContext, { cwd, env, args, stdin }: Run): Promise<Ran> {
  const child = spawn(...gmnCommand(args), {
    cwd,
    env,
    stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  t.onTestFinished(() => void child.kill('SIGKILL'));
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  child.stdin?.on('error', () => {});
  child.stdin?.end(stdin);
  return new Promise((resolve) => child.on('close', (exitCode) => resolve({ stdout, stderr, exitCode })));
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
