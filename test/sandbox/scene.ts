import { spawn, spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { App } from '../../src/core/app.ts';
import type { EngineName } from '../../src/core/confine.ts';
import { openSandbox, type Sandbox } from '../../src/engine/tools/sandbox/sandbox.ts';

export const GMN = fileURLToPath(new URL('../../bin/gmn.js', import.meta.url));

/** What run.mjs has made: home, work, outside, run and tmp, all of the user's own. */
export const PLACE = process.env.GMN_SANDBOX_TEST ?? '';
export const ENGINE = process.env.GMN_SANDBOX_ENGINE as EngineName;
export const HOME = join(PLACE, 'home');
export const WORK = join(PLACE, 'work');
export const OUTSIDE = join(PLACE, 'outside');
export const isRoot = process.getuid?.() === 0;
export const SECRET = 'canary-4f1d9c';

export const ENV = {
  ...{ PATH: process.env.PATH ?? '', HOME, TMPDIR: join(PLACE, 'tmp'), LANG: 'C.UTF-8', GEMINI_API_KEY: SECRET },
  XDG_RUNTIME_DIR: join(PLACE, 'run'),
};

/** Keys and the like, where they are kept. */
export function writeSecrets(): void {
  const files = [
    'home/.ssh/id_ed25519',
    'home/.gmn/key.json',
    'home/.gemini/oauth_creds.json',
    'home/.aws/credentials',
  ];
  const hooks = ['work/.git/hooks/pre-commit', 'work/sub/.git/hooks/pre-commit'];
  for (const name of [...files, 'home/private/diary', 'outside/file', ...hooks, 'work/a.txt']) {
    mkdirSync(join(PLACE, name, '..'), { recursive: true });
    // What is outside may be read, as all of the system.
    writeFileSync(join(PLACE, name), name.startsWith('outside') ? 'ordinary' : SECRET);
  }
}

export interface Outcome {
  readonly status: number | null;
  readonly output: string;
}

/** As a user without a sandbox. */
export function runBare(command: string): Promise<Outcome> {
  return runProgram('/bin/sh', ['-c', command]);
}

/** gmn itself; not confined. */
export function runGmn(
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd = WORK,
): Promise<Outcome> {
  return runProgram(process.execPath, [GMN, ...words], { cwd, env: { ...ENV, ...env } });
}

/** By the program itself. */
export function runConfined(command: string, ...flags: readonly string[]): Promise<Outcome> {
  return runProgram(process.execPath, [GMN, 'sandbox', '--engine', ENGINE, ...flags, '--', '/bin/sh', '-c', command]);
}

/** A descriptor that a careless parent left open: a directory outside. */
export const LEFT_OPEN = 40;

export interface Surroundings {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export function runProgram(
  program: string,
  args: readonly string[],
  { cwd = WORK, env = ENV }: Surroundings = {},
): Promise<Outcome> {
  return new Promise((resolve) => {
    const home = openSync(HOME, 'r');
    const others = Array.from({ length: LEFT_OPEN - 3 }, () => 'ignore' as const);
    const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe', ...others, home] });
    closeSync(home);
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.once('close', (status) => resolve({ status, output }));
  });
}

/** For many commands in one sandbox, as a run has it. */
export async function openOwnSandbox(roots: readonly string[] = [WORK]): Promise<Sandbox> {
  const homes = { gmn: join(HOME, '.gmn'), gemini: join(HOME, '.gemini') };
  const settings = async () => ({ env: {} });
  const app = { env: ENV, cwd: WORK, homes: () => homes, onExit: () => () => {}, settings } as unknown as App;
  return openSandbox(ENGINE, {}, { app, roots });
}

/** Accepts connections until it is closed. */
export async function listen(where: string | number): Promise<Server> {
  const server = createServer((socket) => {
    // Whoever only tries to connect is gone at once.
    socket.on('error', () => {});
    socket.end('hello');
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    if (typeof where === 'number') server.listen(where, '127.0.0.1', resolve);
    else server.listen(where, resolve);
  });
  return server;
}

/** A command that ends well if it can connect; the place is what `net.connect` takes. */
export function connectCommand(where: string): string {
  const script = `require('net').connect(${where}).on('connect',()=>process.exit(0)).on('error',(e)=>{console.error(e.message);process.exit(1)})`;
  return `"${process.execPath}" -e '${script.replaceAll("'", "'\\''")}'`;
}

export function hasProgram(name: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${name}`]).status === 0;
}
