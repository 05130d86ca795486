// The processes that are measured, and the directory they run in.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../../scripts/project.mjs';

/** What users start. */
export const gmn = join(root, 'bin', 'gmn.js');

/** A temporary directory whose home is that of a user: a settings file, a key in the environment, sessions saved. */
export function openPlace(name) {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), `gmn-bench-${name}-`)));
  const home = join(directory, 'home');
  mkdirSync(join(home, '.gemini'), { recursive: true });
  writeFileSync(join(home, '.gemini', 'settings.json'), '{"security":{"auth":{"selectedType":"gemini-api-key"}}}');
  const textFile = join(directory, 'notes.txt');
  writeFileSync(textFile, 'One line.\nAnother line.\n');
  return {
    directory,
    textFile,
    /** Nothing of the caller's own: its certificates alone would triple the start of Node 20. */
    env: (url, extra = {}) => ({
      PATH: process.env.PATH,
      HOME: home,
      USERPROFILE: home,
      GEMINI_API_KEY: 'bench-key',
      GOOGLE_GEMINI_BASE_URL: url,
      ...extra,
    }),
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

/**
 * Runs a program to its end, with `stdin` piped in if it is given: its wall time in `ms`, and the end of what it wrote. Throws
 * if it does not end with 0.
 */
export function ran({ program = process.execPath, args, cwd, env, stdin }) {
  return new Promise((resolve, reject) => {
    const start = process.hrtime.bigint();
    const child = spawn(program, args, { cwd, env, stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'] });
    child.stdin?.end(stdin);
    let output = '';
    let words = '';
    child.stdout.on('data', (data) => (output = String(data)));
    child.stderr.on('data', (data) => (words += data));
    child.on('error', reject);
    child.on('close', (code, signal) => {
      const ms = Number(process.hrtime.bigint() - start) / 1e6;
      if (code === 0) resolve({ ms, output });
      else reject(new Error(`${program} ${args.join(' ')} ended with ${code ?? signal}: ${words}`));
    });
  });
}

/**
 * The same for a script of Node, with the CPU time and the peak memory it leaves behind through a preloaded hook.
 * `isPiped`: its output goes through a pipe to `wc -c`, whose count is then the output.
 */
export async function ranWithUsage({ program = process.execPath, args, cwd, env, stdin, isPiped = false }) {
  const file = join(cwd, 'rusage');
  const hooked = ['--require', join(root, 'test/bench/rusage.cjs'), ...args];
  const command = isPiped
    ? { program: 'sh', args: ['-c', '"$@" | wc -c', 'sh', program, ...hooked] }
    : { program, args: hooked };
  const result = await ran({ ...command, cwd, stdin, env: { ...env, BENCH_RUSAGE: file } });
  const [cpu, rss] = readFileSync(file, 'utf8').trim().split('\n').at(-1).split(' ').map(Number);
  rmSync(file);
  return { ...result, cpuMs: cpu / 1000, rssMb: rss / 1024 };
}

/** A server of this folder as a process of its own, so that its work is not the measured one's; `port` is what it printed. */
export async function openServer(script, args = []) {
  const child = spawn(process.execPath, [join(root, 'test/bench', script), ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH },
  });
  const port = await new Promise((resolve, reject) => {
    child.stdout.once('data', (data) => resolve(String(data).trim()));
    child.once('exit', () => reject(new Error(`${script} did not start`)));
  });
  return { port, close: () => child.stdin.end() };
}
