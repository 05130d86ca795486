import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { devNull, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PassThrough, type Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { fileURLToPath } from 'node:url';
import type { TestContext } from 'vitest';
import { AppError } from '../../src/core/error.ts';
import { NO_STDIN, type Out, type Stdin } from '../../src/core/io.ts';
import type { World } from '../../src/platform/app.ts';
import { fakeGemini, type Scripted, type SeenRequest } from './gemini.ts';
import { isWindows } from './posix.ts';

/** The program under test: Node's script, or the executable that GMN_BIN names. */
export const GMN = process.env.GMN_BIN ?? fileURLToPath(new URL('../../bin/gmn.js', import.meta.url));

const { version: VERSION } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

const HERE = process.cwd();
let hasNoInput = false;
let calls = 0;

export const isStandalone = process.env.GMN_BIN !== undefined;

export function gmnCommand(words: readonly string[]): [file: string, args: string[]] {
  return isStandalone ? [GMN, [...words]] : [process.execPath, [GMN, ...words]];
}

/** For a shell, without arguments. */
export const GMN_LINE = gmnCommand([])
  .flat()
  .map((word) => `"${word}"`)
  .join(' ');

export interface GmnOptions {
  /** The server it talks to; if given, there is also a key in the environment. */
  readonly gemini?: { readonly url: string };
  /** The same with a server that begins with the run and follows this script; not for `place`, which starts nothing. */
  readonly script?: readonly Scripted[] | Scripted;
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  /** For example `.gemini/settings.json`. */
  readonly home?: Readonly<Record<string, string>>;
  /** What is in `.gemini/settings.json`. */
  readonly settings?: object;
  readonly env?: Readonly<Record<string, string>>;
  /** Bytes for stdin, through a pipe; without them stdin is /dev/null. */
  readonly stdin?: string | Uint8Array;
  /** gmn was never run in this home, so its code has to be compiled. */
  readonly isFirstRun?: boolean;
}

export interface GmnResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly bytes: Buffer;
}

/** A temporary home and working directory, and an environment with nothing of the caller's. */
export function place(
  t: TestContext,
  { gemini, files = {}, home = {}, settings, env = {}, isFirstRun }: GmnOptions = {},
) {
  const root = mkdtempSync(join(tmpdir(), 'gmn-test-'));
  // On Windows the directory of a program can be removed a moment after its end.
  t.onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 10 }));
  const write = (directory: string, entries: Readonly<Record<string, string | Uint8Array>>): void => {
    mkdirSync(directory, { recursive: true });
    for (const [name, content] of Object.entries(entries)) {
      mkdirSync(dirname(join(directory, name)), { recursive: true });
      writeFileSync(join(directory, name), content);
    }
  };
  write(join(root, 'home'), home);
  if (settings) write(join(root, 'home'), { '.gemini/settings.json': JSON.stringify(settings) });
  write(join(root, 'work'), files);
  if (!isFirstRun && !('.gmn' in home)) lendCodeCache(join(root, 'home'));
  return {
    root,
    home: join(root, 'home'),
    cwd: join(root, 'work'),
    env: {
      PATH: process.env.PATH ?? '',
      HOME: join(root, 'home'),
      TMPDIR: root,
      GMN_RETRY_DELAY: '1ms',
      ...(gemini ? { GEMINI_API_KEY: 'test-key-0123456789', GOOGLE_GEMINI_BASE_URL: gemini.url } : {}),
      ...env,
    },
  };
}

/** See code-cache.ts. There is nothing to lend to the executable, or without that setup. */
function lendCodeCache(home: string): void {
  const lent = process.env.GMN_TEST_CODE_CACHE;
  if (lent === undefined || isStandalone || process.platform === 'win32') return;
  // Only this directory: what gmn caches of servers and accounts beside it belongs to each home.
  const cache = join(home, '.gmn', 'cache');
  mkdirSync(cache, { recursive: true, mode: 0o700 });
  symlinkSync(lent, join(cache, `${VERSION}-${process.version}-${process.arch}`));
}

/** The scripted Gemini of the options, which begins with the run, and what it was asked. */
async function openScript(t: TestContext, options: GmnOptions) {
  if (options.script === undefined) return { options, requests: [] };
  const gemini = await fakeGemini(t, options.script);
  return { options: { ...options, gemini }, requests: gemini.requests };
}

export async function runGmn(
  t: TestContext,
  args: readonly string[],
  given: GmnOptions = {},
): Promise<GmnResult & { readonly requests: readonly SeenRequest[] }> {
  const { options, requests } = await openScript(t, given);
  return { ...(await runGmnIn(t, place(t, options), args, options.stdin)), requests };
}

interface Place {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** In an existing place, so that one run finds what another left. */
export function runGmnIn(
  t: TestContext,
  at: Place,
  args: readonly string[],
  stdin?: string | Uint8Array,
): Promise<GmnResult> {
  return startProgram(t, gmnCommand(args), at, { stdin }).ended;
}

/** As `runGmn`, but in this process, for all that needs no other: the same code from `main` to the last byte, without a start. */
export async function callGmn(
  t: TestContext,
  args: readonly string[],
  given: GmnOptions = {},
): Promise<GmnResult & { readonly requests: readonly SeenRequest[] }> {
  const { options, requests } = await openScript(t, given);
  return { ...(await callGmnIn(t, place(t, options), args, options.stdin)), requests };
}

/**
 * As `runGmnIn`. A program is started for what is traced, which goes through a descriptor; for calls at the same time in other
 * directories; and for the executable, since all has to hold for it, too.
 */
export async function callGmnIn(
  t: TestContext,
  at: Place,
  args: readonly string[],
  stdin?: string | Uint8Array,
): Promise<GmnResult> {
  if (needsProgram(at, args)) return runGmnIn(t, at, args, stdin);
  const { input, ended } = openCall(t, at, args, { stdin: stdin === undefined ? NO_STDIN : undefined });
  if (stdin !== undefined) input.write(stdin);
  input.end();
  return ended;
}

function needsProgram({ cwd, env }: Place, args: readonly string[]): boolean {
  // A trace is open until its process ends, and Windows removes no file that is open.
  const isTraced = args.includes('--debug') || 'GMN_DEBUG' in env || (isWindows && args.includes('--debug-file'));
  return isStandalone || isTraced || 'NODE_OPTIONS' in env || !canEnter(cwd);
}

type TextListener = (name: 'out' | 'err', text: string) => void;

interface OpenGmn {
  readonly input: { write(bytes: string | Uint8Array): void; end(): void };
  readonly ended: Promise<GmnResult>;
}

/** With a pipe as stdin, in this process where it can be. `onText` is called with each piece of stdout and stderr. */
export function openGmn(t: TestContext, at: Place, args: readonly string[], onText: TextListener): OpenGmn {
  if (!needsProgram(at, args)) return openCall(t, at, args, { onText });
  const { child, ended } = startProgram(t, gmnCommand(args), at, { stdin: 'open' });
  for (const name of ['out', 'err'] as const) {
    const decoder = new StringDecoder('utf8');
    child[`std${name}`]?.on('data', (data: Buffer) => onText(name, decoder.write(data)));
  }
  const { stdin } = child;
  return { input: { write: (bytes) => void stdin?.write(bytes), end: () => void stdin?.end() }, ended };
}

function openCall(
  t: TestContext,
  at: Place,
  args: readonly string[],
  { stdin, onText = () => {} }: { readonly stdin?: Stdin | undefined; readonly onText?: TextListener },
): OpenGmn {
  enter(t, at.cwd);
  const end = new AbortController();
  const pipe = new PassThrough();
  const { world, written } = collectingWorld(end.signal, stdin ?? pipedStdin(pipe), onText);
  calls += 1;
  // Loaded for those who call: it is the whole program.
  const exit = import('../../src/main.ts').then(({ main }) => main(args, at.env, VERSION, world));
  const ended = exit
    .finally(() => (calls -= 1))
    .then((exitCode) => {
      const [stdout, stderr] = [written.out.join(''), written.err.join('')];
      return { stdout, stderr, exitCode, signal: null, bytes: Buffer.from(stdout) };
    });
  t.onTestFinished(async () => {
    end.abort(new AppError('interrupted', 'the test is over'));
    await ended;
  });
  return { input: pipe, ended };
}

function pipedStdin(pipe: PassThrough): Stdin {
  return { kind: () => 'pipe', isTerminal: async () => false, read: (signal) => readPipe(pipe, signal) };
}

async function* readPipe(pipe: PassThrough, signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
  signal.throwIfAborted();
  const stop = (): void => void pipe.destroy(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  try {
    yield* pipe;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** A process is in one directory at a time. */
function canEnter(cwd: string): boolean {
  return calls === 0 || realpathSync(cwd) === process.cwd();
}

function enter(t: TestContext, cwd: string): void {
  if (!hasNoInput) {
    // The lowest descriptor that is free is the next to be opened. On Windows the worker has none from the beginning.
    closeSync(0);
    openSync(devNull, 'r');
    hasNoInput = true;
  }
  process.chdir(cwd);
  t.onTestFinished(() => process.chdir(HERE));
}

function collectingWorld(signal: AbortSignal, stdin: Stdin, onText: TextListener) {
  const written: Record<'out' | 'err', string[]> = { out: [], err: [] };
  const collect = (name: 'out' | 'err'): Out => ({
    write: async (chunk) => {
      written[name].push(chunk);
      onText(name, chunk);
    },
    isTerminal: false,
    columns: 80,
    isStyled: false,
  });
  const io = { out: collect('out'), err: collect('err'), expireWrites: () => {}, flush: async () => {} };
  const world: World = {
    openIo: () => io,
    stdin,
    claimStdout: async () => ({ write: io.out.write, ready: async () => {}, gone: new Promise(() => {}) }),
    createInterruptSignal: () => signal,
  };
  return { world, written };
}

/** A line for the shell. */
export function runShell(t: TestContext, at: Place, line: string, shell = '/bin/sh'): Promise<GmnResult> {
  return startProgram(t, [shell, ['-c', line]], at).ended;
}

export interface StartOptions extends Pick<SpawnOptions, 'uid' | 'gid' | 'detached'> {
  /** Bytes for stdin, or a pipe that stays open; without them stdin is /dev/null. */
  readonly stdin?: string | Uint8Array | 'open' | undefined;
  /** Other files or descriptors than pipes. */
  readonly stdout?: number | 'ignore' | 'inherit' | 'pipe';
  readonly stderr?: number | 'ignore' | 'inherit' | 'pipe';
  /** Is called with all that has come so far. */
  onStdout?(text: string, child: ChildProcess): void;
  onStderr?(text: string, child: ChildProcess): void;
}

export interface StartedProgram {
  readonly child: ChildProcess;
  readonly ended: Promise<GmnResult>;
}

/** Starts gmn where it is told to, or in a place of its own. */
export async function startGmn(
  t: TestContext,
  args: readonly string[],
  { at, ...given }: Omit<GmnOptions, 'stdin'> & StartOptions & { readonly at?: Place },
): Promise<StartedProgram> {
  const { options } = await openScript(t, given as GmnOptions);
  return startProgram(t, gmnCommand(args), at ?? place(t, options), given);
}

export function startProgram(
  t: TestContext,
  [file, args]: readonly [string, readonly string[]],
  { cwd, env }: Place,
  { stdin, stdout = 'pipe', stderr = 'pipe', onStdout, onStderr, uid, gid, detached }: StartOptions = {},
): StartedProgram {
  const stdio = [stdin === undefined ? 'ignore' : 'pipe', stdout, stderr] as const;
  const child: ChildProcess = spawn(file, args, { cwd, env, stdio: [...stdio], uid, gid, detached } as SpawnOptions);
  t.onTestFinished(() => void child.kill('SIGKILL'));
  const output: Record<'out' | 'err', Buffer[]> = { out: [], err: [] };
  const collect = (stream: Readable | null, to: Buffer[], onText?: (text: string, child: ChildProcess) => void): void =>
    void stream?.on('data', (data: Buffer) => {
      to.push(data);
      onText?.(Buffer.concat(to).toString('utf8'), child);
    });
  collect(child.stdout, output.out, onStdout);
  collect(child.stderr, output.err, onStderr);
  child.stdin?.on('error', () => {});
  if (stdin !== 'open') child.stdin?.end(stdin);
  const ended = new Promise<GmnResult>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (exitCode, signal) => {
      const bytes = Buffer.concat(output.out);
      const stderr = Buffer.concat(output.err).toString('utf8');
      resolve({ stdout: bytes.toString('utf8'), stderr, exitCode, signal, bytes });
    });
  });
  return { child, ended };
}

/** The objects of JSON lines. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into them as they like
export function parseLines(text: string): any[] {
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line));
}

/** The first line on stderr of a run that need not end; all of stderr if it ends without one. */
export async function firstNotice(t: TestContext, at: Place, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const onStderr = (text: string): void => void (text.includes('\n') && resolve(text));
    const { ended } = startProgram(t, gmnCommand(args), at, { stdout: 'ignore', onStderr });
    ended.then(({ stderr }) => resolve(stderr), reject);
  });
}
