import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestContext } from 'vitest';

/** The file of the program under test: Node's script, or the executable that GMN_BIN names. */
export const GMN = process.env.GMN_BIN ?? fileURLToPath(new URL('../../bin/gmn.js', import.meta.url));

const { version: VERSION } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

/** Whether that is the standalone executable. */
export const isStandalone = process.env.GMN_BIN !== undefined;

/** What starts the program under test with these words: a file and its arguments. */
export function gmnCommand(words: readonly string[]): [file: string, args: string[]] {
  return isStandalone ? [GMN, [...words]] : [process.execPath, [GMN, ...words]];
}

/** The same for a shell, without words. */
export const GMN_LINE = gmnCommand([])
  .flat()
  .map((word) => `"${word}"`)
  .join(' ');

export interface GmnOptions {
  /** The server it talks to; with one, a key is in the environment. */
  readonly gemini?: { readonly url: string };
  /** Files in the working directory. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  /** Files in the home directory, e.g. `.gemini/settings.json`. */
  readonly home?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Bytes for stdin, through a pipe; without them stdin is /dev/null. */
  readonly stdin?: string | Uint8Array;
  /** Whether the home is one in which gmn was never run, so that its code has to be compiled. */
  readonly isFirstRun?: boolean;
}

export interface GmnResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** stdout as the bytes it was. */
  readonly bytes: Buffer;
}

/** A clean place to run in: temporary home and working directory, and an environment with nothing of the caller's. */
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

/** See code-cache.ts. The executable, and a run of tests without that, have none to lend. */
function lendCodeCache(home: string): void {
  const lent = process.env.GMN_TEST_CODE_CACHE;
  if (lent === undefined || isStandalone || process.platform === 'win32') return;
  // Beside it is what gmn knows of servers and accounts, and that is for each home to find out.
  const cache = join(home, '.gmn', 'cache');
  mkdirSync(cache, { recursive: true, mode: 0o700 });
  symlinkSync(lent, join(cache, `${VERSION}-${process.version}-${process.arch}`));
}

/** Runs the real program to its end. */
export async function runGmn(t: TestContext, args: readonly string[], options: GmnOptions = {}): Promise<GmnResult> {
  return runGmnIn(t, place(t, options), args, options.stdin);
}

/** The same in a place that is there, so that one run finds what another left. */
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
