import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'vitest';
import { type GmnOptions, gmnCommand, place } from './gmn.ts';
import { startOnPty } from './pty.ts';

/** The programs that destroy something. In these tests each writes a line into a log, and does nothing else. */
const FAKES = [
  'rm',
  'find',
  'chmod',
  'chown',
  'dd',
  'mkfs',
  'mkfs.ext4',
  'shutdown',
  'reboot',
  'git',
  'mv',
  'sudo',
  'xargs',
];
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;
const owner = isRoot ? { uid: NOBODY, gid: NOBODY } : {};

/** Everything is read-only but the directory of the test, where this system can do that. */
function confine(root: string): readonly string[] {
  const fence = ['bwrap', '--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--unshare-user', '--unshare-pid'];
  const [file = '', ...args] = [
    ...fence,
    '--die-with-parent',
    '--bind',
    root,
    root,
    '--chdir',
    join(root, 'work'),
    '--',
  ];
  return spawnSync(file, [...args, 'true'], owner).status === 0 ? [file, ...args] : [];
}

export interface HarmlessPlace extends Omit<ReturnType<typeof place>, 'env'> {
  readonly env: Readonly<Record<string, string>>;
  /** What the fake programs were called with. */
  called(): readonly string[];
  readonly command: readonly string[];
}

/**
 * A place in which nothing can be destroyed: PATH has only the fake programs and a shell, HOME is the test's own, the user has no
 * rights, and all other files are read-only.
 */
export function harmlessPlace(t: TestContext, options: GmnOptions): HarmlessPlace {
  const at = place(t, { ...options, isFirstRun: true });
  const bin = join(at.root, 'bin');
  const log = join(at.root, 'called.log');
  mkdirSync(bin);
  writeFileSync(log, '');
  for (const name of FAKES) {
    writeFileSync(join(bin, name), `#!/bin/sh\nprintf '%s\\n' "${name} $*" >> '${log}'\n`);
    chmodSync(join(bin, name), 0o755);
  }
  symlinkSync('/bin/sh', join(bin, 'sh'));
  if (isRoot) giveAway(at.root);
  const called = (): readonly string[] => readFileSync(log, 'utf8').split('\n').filter(Boolean);
  return { ...at, env: { ...at.env, PATH: bin, SHELL: '/bin/sh' }, called, command: confine(at.root) };
}

function giveAway(path: string): void {
  chownSync(path, NOBODY, NOBODY);
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const inner = join(path, entry.name);
    if (entry.isDirectory()) giveAway(inner);
    else lchownSync(inner, NOBODY, NOBODY);
  }
}

function toProgram(at: HarmlessPlace, args: readonly string[]): [string, string[]] {
  const [file, words] = gmnCommand(args);
  const [first = file, ...others] = [...at.command, file, ...words];
  return [first, others];
}

export interface Spoken {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number | null;
}

/** Runs gmn there. `answer` gets each line of its stdout; what it gives is written to stdin, `null` ends that. */
export function runHarmless(
  t: TestContext,
  at: HarmlessPlace,
  args: readonly string[],
  {
    first = [],
    answer,
  }: { readonly first?: readonly object[]; readonly answer?: (line: string) => object | null | undefined } = {},
): Promise<Spoken> {
  const [file, words] = toProgram(at, args);
  // The confinement is looked up with the test's own PATH.
  const child = spawn(file === 'bwrap' ? '/usr/bin/bwrap' : file, words, { cwd: at.cwd, env: at.env, ...owner });
  t.onTestFinished(() => void child.kill('SIGKILL'));
  const output = { stdout: '', stderr: '' };
  let rest = '';
  child.stderr.on('data', (data) => {
    output.stderr += data;
  });
  child.stdout.on('data', (data) => {
    output.stdout += data;
    const lines = (rest + data).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const next = answer?.(line);
      if (next === null) child.stdin.end();
      else if (next !== undefined) child.stdin.write(`${JSON.stringify(next)}\n`);
    }
  });
  for (const line of first) child.stdin.write(`${JSON.stringify(line)}\n`);
  if (answer === undefined) child.stdin.end();
  return new Promise((resolve) => child.on('close', (exitCode) => resolve({ ...output, exitCode })));
}

/** On a pseudo-terminal. */
export function askHarmless(t: TestContext, at: HarmlessPlace, args: readonly string[]) {
  const [file, words] = toProgram(at, args);
  return startOnPty(t, [file === 'bwrap' ? '/usr/bin/bwrap' : file, words], { cwd: at.cwd, env: at.env, ...owner });
}
