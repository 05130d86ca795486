import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'vitest';
import { loadSettings } from '../../src/config/settings.ts';
import type { App, Settings } from '../../src/core/app.ts';
import { NO_STDIN, type Out } from '../../src/core/io.ts';
import { type Files, put } from '../support/temporary.ts';

export interface Place {
  readonly root: string;
  readonly app: App;
  /** Writes files, given relative to the root: `home/…`, `work/…`, `etc/…`. */
  write(files: Files): void;
  path(name: string): string;
  /** The settings as a fresh run would see them. */
  settings(env?: Readonly<Record<string, string>>): Promise<Settings>;
  /** What was written to stdout and stderr since the last look. */
  output(): { readonly out: string; readonly err: string };
}

const NOON = Date.UTC(2026, 10, 20, 12);

/** A home, a working directory and a machine of their own, all in one temporary directory. */
export function place(t: TestContext, files: Files = {}, env: Readonly<Record<string, string>> = {}): Place {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'gmn-config-')));
  t.onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const path = (name: string): string => join(root, name);
  const write = (entries: Files): void => put(root, entries);
  for (const directory of ['home', 'work', 'etc']) mkdirSync(path(directory));
  write(files);
  const fullEnv = { GEMINI_CLI_SYSTEM_SETTINGS_PATH: path('etc/settings.json'), ...env };
  const written = { out: '', err: '' };
  const app = fakeApp({ root, env: fullEnv, written });
  return {
    root,
    app,
    path,
    write,
    settings: (more = {}) => loadSettings({ ...app, env: { ...fullEnv, ...more } }),
    output: () => {
      const seen = { ...written };
      Object.assign(written, { out: '', err: '' });
      return seen;
    },
  };
}

function fakeApp({
  root,
  env,
  written,
}: {
  root: string;
  env: App['env'];
  written: { out: string; err: string };
}): App {
  const outTo = (name: 'out' | 'err'): Out => ({
    write: async (chunk) => {
      written[name] += chunk;
    },
    isTerminal: false,
    columns: 80,
    isStyled: false,
  });
  const app = {
    version: '0.0.0',
    io: { out: outTo('out'), err: outTo('err') },
    env,
    cwd: join(root, 'work'),
    clock: { now: () => NOON, sleep: () => Promise.reject(new Error('nothing sleeps here')) },
    signal: new AbortController().signal,
    trace: () => {},
    onExit: () => () => {},
    expireWrites: () => {},
    stdin: NO_STDIN,
    claimStdout: () => Promise.reject(new Error('no protocol is spoken here')),
    preconnect: () => {},
    httpTimers: { connectMs: 0, headersMs: 0, idleMs: 0 },
    random: () => 0.5,
    send: () => Promise.reject(new Error('nothing is sent here')),
    homes: () => ({ gemini: join(root, 'home/.gemini'), gmn: join(root, 'home/.gmn') }),
  };
  return { ...app, settings: () => loadSettings(app) };
}
