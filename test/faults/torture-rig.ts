import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'vitest';
import { place as store } from '../session/support.ts';
import { gmnCommand, place } from '../support/gmn.ts';

/** Why system calls cannot be made to fail here; undefined if they can. */
export const noStrace =
  spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0 ? undefined : 'strace is not here, or may not trace';

/** One call that fails once. */
export interface Blow {
  readonly call: string;
  readonly error: string;
  /** Which call of that name, counted in its thread. */
  readonly when: number;
  /** Whether it is a call of the thread that runs the program; else that of each of the others fails. */
  readonly isMain: boolean;
}

/** Which errors each call is made to fail with. */
export const BLOWS: Readonly<Record<string, readonly string[]>> = {
  openat: ['EIO', 'EACCES', 'EMFILE', 'ENOSPC', 'EINTR'],
  read: ['EIO', 'EINTR'],
  pread64: ['EIO', 'EINTR'],
  write: ['EIO', 'ENOSPC', 'EINTR'],
  writev: ['EIO', 'EINTR'],
  pwrite64: ['EIO', 'ENOSPC'],
  fsync: ['EIO', 'ENOSPC', 'EINTR'],
  fdatasync: ['EIO', 'ENOSPC', 'EINTR'],
  ftruncate: ['EIO'],
  rename: ['EIO', 'ENOSPC', 'EACCES'],
  link: ['EIO', 'ENOSPC', 'EACCES'],
  unlink: ['EIO', 'EACCES'],
  mkdir: ['EIO', 'ENOSPC', 'EACCES'],
  connect: ['EACCES', 'EIO', 'EINTR'],
  recvfrom: ['EIO', 'EINTR'],
  epoll_wait: ['EINTR'],
  epoll_pwait: ['EINTR'],
};

export interface Scene {
  readonly name: string;
  readonly args: readonly string[];
  readonly stdin?: string;
  /** Whether a run that ends well says this, and all of it. */
  readonly isAnswer: (stdout: string) => boolean;
}

export const SCENES: readonly Scene[] = [
  {
    name: 'one-shot',
    args: ['-o', 'json', '--tools', 'read', 'prompt 1'],
    isAnswer: (stdout) => JSON.parse(stdout).response === 'answer 1.',
  },
  { name: 'text', args: ['--tools', 'read', 'prompt 2'], isAnswer: (stdout) => stdout === 'answer 2.\n' },
  {
    name: 'chat',
    args: ['chat', '--tools', 'read'],
    stdin: 'prompt 3\n',
    isAnswer: (stdout) => stdout === 'answer 3.\n',
  },
];

/** What was seen of one run, and all that was wrong with it. */
export interface Wound {
  readonly scene: string;
  readonly blow: Blow;
  /** The call that failed, as strace wrote it; undefined if it never came. */
  readonly hit: string | undefined;
  readonly exitCode: number | null;
  readonly wrongs: readonly string[];
}

const LIMIT_MS = 30_000;
const HOME = {
  '.gemini/settings.json': '{ "ui": { "hideBanner": true } } // mine\n',
  '.gemini/oauth_creds.json': '{"access_token":"not-real","refresh_token":"not-real","expiry_date":1}\n',
};

interface Run {
  readonly root: string;
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number | null;
  readonly isLate: boolean;
  readonly log: string;
}

async function run(
  t: TestContext,
  gemini: { readonly url: string },
  scene: Scene,
  strace: readonly string[],
): Promise<Run> {
  const { root, cwd, env } = place(t, { gemini, home: HOME, files: { 'a.txt': 'hello\n' }, isFirstRun: true });
  const log = join(root, 'strace.log');
  const words = ['-y', '-qq', '-s', '16', '-o', log, ...strace, ...gmnCommand(scene.args).flat()];
  const child = spawn('strace', words, {
    cwd,
    // One thread for files, so that the nth call is the nth call.
    env: { ...env, UV_THREADPOOL_SIZE: '1' },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  let isLate = false;
  const kill = (): void => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
      process.kill(-child.pid, 'SIGKILL');
  };
  t.onTestFinished(kill);
  const limit = setTimeout(() => {
    isLate = true;
    kill();
  }, LIMIT_MS);
  const output: [string[], string[]] = [[], []];
  child.stdout.setEncoding('utf8').on('data', (text: string) => output[0].push(text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => output[1].push(text));
  child.stdin.on('error', () => {});
  child.stdin.end(scene.stdin ?? '');
  const [exitCode] = await once(child, 'close');
  clearTimeout(limit);
  return {
    root,
    exitCode,
    isLate,
    stdout: output[0].join(''),
    stderr: output[1].join(''),
    log: existsSync(log) ? readFileSync(log, 'utf8') : '',
  };
}

/** Calls of the program itself: on its own files, on the user's, on the line to the server, on its output. Not those of Node. */
function isOurs(line: string, root: string): boolean {
  const [, call = '', rest = ''] = /^(?:\d+ +)?(\w+)\((.*)$/.exec(line) ?? [];
  if (call.startsWith('epoll') || call === 'connect') return true;
  // Where a path is relative to, is no matter.
  const what = rest.replace(/^AT_FDCWD<[^>]*>, /, '');
  return (
    what.includes(`${root}/home/`) ||
    what.includes(`${root}/work`) ||
    /^\d+<(?:socket|TCP)/.test(what) ||
    /^[12]</.test(what)
  );
}

/** Every blow that a scene can be dealt, of those it deals with itself: found by looking at a run that goes well. */
export async function blowsOf(
  t: TestContext,
  gemini: { readonly url: string },
  scene: Scene,
): Promise<readonly Blow[]> {
  const calls = Object.keys(BLOWS).join(',');
  const { log, root, stdout, stderr, exitCode } = await run(t, gemini, scene, ['-f', '-e', `trace=${calls}`]);
  if (exitCode !== 0 || !scene.isAnswer(stdout)) throw new Error(`the scene ${scene.name} fails by itself: ${stderr}`);
  const counts = new Map<string, number>();
  const found = new Map<string, Blow>();
  for (const line of log.split('\n')) {
    const [, thread, call = ''] = /^(\d+) +(\w+)\(/.exec(line) ?? [];
    const when = (counts.get(`${thread} ${call}`) ?? 0) + 1;
    counts.set(`${thread} ${call}`, when);
    if (!isOurs(line, root) || isOneOfMany(line)) continue;
    const isMain = log.startsWith(`${thread} `);
    for (const error of BLOWS[call] ?? [])
      found.set(`${isMain} ${call} ${error} ${when}`, { call, error, when, isMain });
  }
  return [...found.values()];
}

/** The compiled code of forty parts is kept in the same way as that of these. */
function isOneOfMany(line: string): boolean {
  return line.includes('.js.cache') && !/\/(?:pack|prompt|loop|history)-/.test(line);
}

/** Deals a blow, and looks at what is left. */
export async function deal(t: TestContext, gemini: { readonly url: string }, scene: Scene, blow: Blow): Promise<Wound> {
  const { call, error, when, isMain } = blow;
  const inject = [...(isMain ? [] : ['-f']), '-e', `trace=${call}`, '-e', `inject=${call}:error=${error}:when=${when}`];
  const seen = await run(t, gemini, scene, inject);
  const hits = seen.log.split('\n').filter((line) => line.includes('(INJECTED)'));
  const hit = hits.map((line) => line.replaceAll(seen.root, '<root>')).join('\n') || undefined;
  // What Node needs for itself it may die of; what is on the disk counts even then.
  const isNodes = hits.some((line) => !isOurs(line, seen.root));
  const wrongs = [...(isNodes ? [] : manners(scene, seen)), ...(await remains(seen.root))];
  return { scene: scene.name, blow, hit: isNodes ? undefined : hit, exitCode: seen.exitCode, wrongs };
}

const STACK = /^\s+at .+[:(]\d+|node:internal|UnhandledPromise|Node\.js v\d/m;

/** How it ended. */
function manners(scene: Scene, { exitCode, isLate, stdout, stderr }: Run): readonly string[] {
  const wrongs: string[] = [];
  if (isLate) return [`it was not over after ${LIMIT_MS / 1000} s`];
  if (exitCode === null || ![0, 1, 2, 3, 4].includes(exitCode)) wrongs.push(`exit code ${exitCode}`);
  if (STACK.test(stdout) || STACK.test(stderr)) wrongs.push(`a stack trace: ${stderr || stdout}`);
  if (exitCode === 0 && !isAnswer(scene, stdout)) wrongs.push(`exit code 0 with ${JSON.stringify(stdout)}`);
  if (exitCode !== 0 && exitCode !== null && stdout + stderr === '')
    wrongs.push(`exit code ${exitCode} without a word`);
  return wrongs;
}

function isAnswer({ isAnswer: test }: Scene, stdout: string): boolean {
  try {
    return test(stdout);
  } catch {
    return false;
  }
}

/** What it left behind. */
async function remains(root: string): Promise<readonly string[]> {
  const wrongs: string[] = [];
  const home = join(root, 'home');
  for (const [name, text] of Object.entries(HOME)) {
    if (readFileSync(join(home, name), 'utf8') !== text) wrongs.push(`${name} was changed`);
  }
  const official = readdirSync(join(home, '.gemini'));
  if (official.length !== Object.keys(HOME).length) wrongs.push(`in .gemini: ${official.join(', ')}`);
  // The next one takes over what a lock of the dead guards, and leaves none.
  const { store: sessions, said } = store(join(home, '.gmn'));
  try {
    for (const summary of await sessions.list()) await (await sessions.resume(summary, join(root, 'work'))).close();
  } catch (thrown) {
    wrongs.push(`a session does not load: ${thrown}`);
  }
  if (said.length > 0) wrongs.push(`the next one says: ${said.join(' ')}`);
  for (const path of tree(join(home, '.gmn'))) {
    if (/\.tmp|\.lock|\.cache\.\d+$/.test(path)) wrongs.push(`left behind: ${path}`);
    if ((statSync(join(home, '.gmn', path)).mode & 0o077) !== 0) wrongs.push(`others may use ${path}`);
  }
  return wrongs;
}

function tree(directory: string, prefix = ''): readonly string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const name = join(prefix, entry.name);
    return entry.isDirectory() ? [name, ...tree(join(directory, entry.name), name)] : [name];
  });
}
