import { spawn } from 'node:child_process';
import { join } from 'node:path';

const RUN_LIMIT_MS = 90_000;

/** An environment with a home of its own and nothing of the caller's but what programs need to start. */
export function cleanEnv(home, more = {}) {
  const kept = ['PATH', 'SystemRoot', 'TEMP', 'TMP', 'TMPDIR'].flatMap((name) =>
    process.env[name] === undefined ? [] : [[name, process.env[name]]],
  );
  const own = { HOME: home, USERPROFILE: home, GMN_HOME: join(home, '.gmn'), TERM: 'xterm-256color', LANG: 'C.UTF-8' };
  return { ...Object.fromEntries(kept), ...own, ...more };
}

/** Runs a Node program to its end, at most 90 s. Never throws. */
export function runNode(args, place) {
  return runProgram(process.execPath, args, place);
}

/** The same for any program. `stdin` is a text; without it there is none. */
export function runProgram(program, args, { cwd, env, stdin }) {
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd, env, stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'] });
    child.stdin?.on('error', () => {}).end(stdin);
    const timer = setTimeout(() => child.kill('SIGKILL'), RUN_LIMIT_MS);
    const output = { out: '', errors: '' };
    child.stdout.setEncoding('utf8').on('data', (text) => {
      output.out += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text) => {
      output.errors += text;
    });
    child.on('close', (exitCode) => {
      clearTimeout(timer);
      resolve({ ...output, exitCode });
    });
  });
}
