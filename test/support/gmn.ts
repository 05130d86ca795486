import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestContext } from 'vitest';

/** The program under test: Node's script, or the executable that GMN_BIN names. */
export const GMN = process.env.GMN_BIN ?? fileURLToPath(new URL('../../bin/gmn.js', import.meta.url));

const { version: VERSION } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

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
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  /** For example `.gemini/settings.json`. */
  readonly home?: Readonly<Record<string, string>>;
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
export function place(t: TestContext, { gemini, files = {}, home = {}, env = {}, isFirstRun }: GmnOptions = {}) {
  const root = mkdtempSync(join(tmpdir(), 'gmn-test-'));
  t.onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const write = (directory: string, entries: Readonly<Record<string, string | Uint8Array>>): void => {
    mkdirSync(directory, { recursive: true });
    for (const [name, content] of Object.entries(entries)) {
      mkdirSync(dirname(join(directory, name)), { recursive: true });
      writeFileSync(join(directory, name), content);
    }
  };
  write(join(root, 'home'), home);
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

export async function runGmn(t: TestContext, args: readonly string[], options: GmnOptions = {}): Promise<GmnResult> {
  return runGmnIn(t, place(t, options), args, options.stdin);
}

/** In an existing place, so that one run finds what another left. */
export async function runGmnIn(
  t: TestContext,
  { cwd, env }: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
  args: readonly string[],
  stdin?: string | Uint8Array,
): Promise<GmnResult> {
  const child = spawn(...gmnCommand(args), {
    cwd,
    env,
    stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  t.onTestFinished(() => void child.kill('SIGKILL'));
  const output = { out: [] as Buffer[], err: [] as Buffer[] };
  child.stdout?.on('data', (data: Buffer) => output.out.push(data));
  child.stderr?.on('data', (data: Buffer) => output.err.push(data));
  child.stdin?.on('error', () => {});
  child.stdin?.end(stdin);
  const [exitCode, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) =>
    child.on('close', (...ending) => resolve(ending)),
  );
  const bytes = Buffer.concat(output.out);
  return {
    stdout: bytes.toString('utf8'),
    stderr: Buffer.concat(output.err).toString('utf8'),
    exitCode,
    signal,
    bytes,
  };
}

/** The objects of JSON lines. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into them as they like
export function parseLines(text: string): any[] {
  return (text.match(/.+/g) ?? []).map((line) => JSON.parse(line));
}

/** The first line on stderr of a run that need not end; all of stderr if it ends without one. */
export async function firstNotice(
  t: TestContext,
  { cwd, env }: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
  args: readonly string[],
): Promise<string> {
  const child = spawn(...gmnCommand(args), { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] });
  t.onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  for await (const data of child.stderr) {
    said += data;
    if (said.includes('\n')) break;
  }
  return said;
}
