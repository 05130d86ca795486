import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { expect } from 'vitest';
import { linuxTest, processesWith } from '../../support/posix.ts';
import { temporary } from '../../support/temporary.ts';

/** Runs a command that ignores TERM, and ends itself as a second Ctrl+C would as soon as the command is up. */
const PROGRAM = `
  import { existsSync } from 'node:fs';
  import { runShell } from './src/platform/process/shell.ts';
  const shell = { path: '/bin/sh', args: ['-c'], isVerbatim: false };
  const [command, cwd] = process.argv.slice(2);
  runShell({ shell, command, cwd, env: process.env, timeoutMs: 60000, maxChars: 1000 }, new AbortController().signal);
  setInterval(() => existsSync(cwd + '/up') && process.exit(130), 5);
`;

/** Is killed right after it has started a command, before it could say which. */
const KILLED_EARLY = `
  import { spawn } from 'node:child_process';
  import { startWatchdog } from './src/platform/process/group.ts';
  const [marker] = process.argv.slice(2);
  startWatchdog(marker);
  const env = { PATH: process.env.PATH, MARK: marker };
  spawn('/bin/sh', ['-c', 'sleep 600 & setsid sleep 600'], { env, detached: true, stdio: 'ignore' });
  process.kill(process.pid, 'SIGKILL');
`;

async function buildProgram(contents: string) {
  const directory = temporary();
  const outfile = join(directory, 'program.mjs');
  const stdin = { contents, resolveDir: process.cwd(), loader: 'ts' } as const;
  await build({ stdin, outfile, bundle: true, platform: 'node', format: 'esm', logLevel: 'error' });
  return { directory, outfile };
}

linuxTest('a program that is killed right after a command was started takes it along', async () => {
  const { outfile } = await buildProgram(KILLED_EARLY);
  const mark = randomUUID();
  expect(spawnSync(process.execPath, [outfile, mark]).signal).toBe('SIGKILL');
  await expect.poll(() => processesWith(mark), { timeout: 10_000 }).toEqual([]);
});

linuxTest('a program that ends at once takes the running command with it', async () => {
  const { directory, outfile } = await buildProgram(PROGRAM);
  const mark = `mark-${Math.random()}`;
  const command = `trap '' TERM INT HUP; touch up; while :; do sleep 0.05; done; : ${mark}`;
  expect(spawnSync(process.execPath, [outfile, command, directory]).status).toBe(130);
  const left = () => readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && commandOf(pid).includes(mark));
  // It was killed, but a busy machine takes a moment to bury it; one that lives on runs into the time limit.
  while (left().length > 0) await new Promise((resolve) => setImmediate(resolve));
});

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
