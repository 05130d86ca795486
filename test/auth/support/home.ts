import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { TestContext } from 'vitest';
import { listTree } from '../../support/temporary.ts';

/** The secrets of these tests. None of them may turn up in any output. */
export const CANARIES = {
  access: 'ya29.canary-old-access',
  refresh: '1//canary-refresh',
  id: 'canary-id-token',
  clientId: 'canary-client-id.apps.example',
  clientSecret: 'GOCSPX-canary-client-secret',
} as const;

/** What the official CLI would have written, with a key gmn does not know. */
export function oauthDocument(changes: Readonly<Record<string, unknown>> = {}): string {
  const document = {
    access_token: CANARIES.access,
    refresh_token: CANARIES.refresh,
    scope: 'https://www.googleapis.com/auth/cloud-platform',
    token_type: 'Bearer',
    id_token: CANARIES.id,
    expiry_date: 1_700_000_000_000,
    unknown_key: { kept: ['as', 'it', 'is'] },
    ...changes,
  };
  return JSON.stringify(document, null, 2);
}

export interface Home {
  readonly root: string;
  readonly gemini: string;
  readonly gmn: string;
  readonly credentials: string;
  readonly env: Readonly<Record<string, string>>;
}

/** A home directory with these files in it, `~/.gemini/oauth_creds.json` expired unless given. */
export function home(t: Pick<TestContext, 'onTestFinished'>, files: Readonly<Record<string, string>> = {}): Home {
  const root = mkdtempSync(join(tmpdir(), 'gmn-auth-'));
  t.onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const [name, text] of Object.entries({ '.gemini/oauth_creds.json': oauthDocument(), ...files })) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text, { mode: 0o600 });
  }
  return {
    root,
    gemini: join(root, '.gemini'),
    gmn: join(root, '.gmn'),
    credentials: join(root, '.gemini', 'oauth_creds.json'),
    env: {
      PATH: '/usr/bin:/bin',
      HOME: root,
      GMN_OAUTH_CLIENT_ID: CANARIES.clientId,
      GMN_OAUTH_CLIENT_SECRET: CANARIES.clientSecret,
    },
  };
}

/** One of the small programs in this directory, bundled. */
export async function bundleProgram(name = 'sign-in-process'): Promise<{ readonly path: string; remove(): void }> {
  const directory = mkdtempSync(join(tmpdir(), 'gmn-auth-bundle-'));
  await build({
    entryPoints: [fileURLToPath(new URL(`./${name}.ts`, import.meta.url))],
    bundle: true,
    platform: 'node',
    target: 'node20.18',
    format: 'esm',
    splitting: true,
    outdir: directory,
    outExtension: { '.js': '.mjs' },
    mainFields: ['module', 'main'],
    banner: { js: "import { createRequire as r } from 'node:module'; const require = r(import.meta.url);" },
    logLevel: 'error',
  });
  return { path: join(directory, `${name}.mjs`), remove: () => rmSync(directory, { recursive: true }) };
}

export interface Ended {
  readonly exitCode: number | null;
  readonly output: string;
  readonly result: Readonly<Record<string, unknown>>;
}

/** Starts the program; `ended` gives what it said. */
export function start(
  t: Pick<TestContext, 'onTestFinished'>,
  program: string,
  options: {
    readonly env: Readonly<Record<string, string>>;
    readonly args?: readonly string[];
    readonly cwd?: string;
    /** A shell's script that runs the program as `"$@"`. */
    readonly shell?: string;
  },
): { readonly child: ChildProcess; readonly ended: Promise<Ended> } {
  const command = [process.execPath, program, ...(options.args ?? [])];
  const [name = '', ...args] = options.shell === undefined ? command : ['sh', '-c', options.shell, 'sh', ...command];
  const child = spawn(name, args, {
    env: options.env,
    cwd: options.cwd ?? options.env.HOME,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  }
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (exitCode) => {
      let result: Readonly<Record<string, unknown>> = {};
      try {
        result = JSON.parse(output);
      } catch {
        // Not the program's own words: the test sees `output`.
      }
      resolve({ exitCode, output, result });
    });
  });
  return { child, ended };
}

/** The digest the program prints for a bearer token. */
export function bearerDigest(token: string): string {
  return createHash('sha256').update(`Bearer ${token}`).digest('hex');
}

/** Every file below a directory, by its path. */
export function filesIn(directory: string): Readonly<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const entry of listTree(directory)) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile()) files[path.slice(directory.length + 1)] = readFileSync(path, 'utf8');
  }
  return files;
}
