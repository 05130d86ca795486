import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import type { Env } from '../core/io.ts';
import { isObject } from '../core/json.ts';

const MAX_FILES = 500;
const MAX_FILE_BYTES = 64_000_000;
const MAX_DEPTH = 6;

export interface InstalledPackage {
  readonly directory: string;
  readonly version: string;
}

/**
 * Where an npm package with a command is installed: behind that command on PATH, else in npm's global root; undefined if
 * it is nowhere. Reads directories and package.json files only, runs nothing. Never throws.
 */
export async function findInstalledPackage(
  name: string,
  command: string,
  env: Env,
): Promise<InstalledPackage | undefined> {
  for (const directory of (env.PATH ?? env.Path ?? '').split(delimiter).filter(Boolean)) {
    for (const file of [command, `${command}.cmd`]) {
      const real = await realpath(join(directory, file)).catch(() => undefined);
      if (real === undefined) continue;
      const found = (await packageAbove(real, name)) ?? (await packageNear(directory, name));
      if (found !== undefined) return found;
    }
  }
  for (const root of globalRoots(env)) {
    const found = await packageAt(join(root, name), name);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The package in this very directory, if it is still there. Never throws. */
export async function packageAt(directory: string, name: string): Promise<InstalledPackage | undefined> {
  try {
    const manifest: unknown = JSON.parse(await readFile(join(directory, 'package.json'), 'utf8'));
    if (!isObject(manifest) || manifest.name !== name || typeof manifest.version !== 'string') return undefined;
    return { directory, version: manifest.version };
  } catch {
    return undefined;
  }
}

/** The texts of a package's JavaScript files, those of `folders` first, a bounded number of them. Never throws. */
export async function* packageSources(directory: string, folders: readonly string[]): AsyncGenerator<string, void> {
  let left = MAX_FILES;
  for (const folder of folders) {
    for await (const path of scripts(join(directory, folder), MAX_DEPTH)) {
      if (left-- <= 0) return;
      const size = (await stat(path).catch(() => undefined))?.size ?? Number.POSITIVE_INFINITY;
      if (size <= MAX_FILE_BYTES) yield await readFile(path, 'latin1').catch(() => '');
    }
  }
}

async function* scripts(directory: string, depth: number): AsyncGenerator<string, void> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    const path = join(directory, entry.name);
    if (entry.isFile() && /\.[cm]?js$/.test(entry.name)) yield path;
    else if (entry.isDirectory() && depth > 0) yield* scripts(path, depth - 1);
  }
}

async function packageAbove(file: string, name: string): Promise<InstalledPackage | undefined> {
  let directory = dirname(file);
  for (let depth = 0; depth < MAX_DEPTH; depth += 1) {
    const found = await packageAt(directory, name);
    if (found !== undefined || directory === dirname(directory)) return found;
    directory = dirname(directory);
  }
  return undefined;
}

/** Where a wrapper script, not a link, stands for the command: Windows, and some package managers. */
async function packageNear(directory: string, name: string): Promise<InstalledPackage | undefined> {
  const at = (path: string): Promise<InstalledPackage | undefined> => packageAt(join(directory, path, name), name);
  return (await at('node_modules')) ?? (await at('../lib/node_modules')) ?? (await at('..'));
}

/** What `npm root -g` would most likely say, without starting npm. */
function globalRoots(env: Env): readonly string[] {
  const prefixes = [env.npm_config_prefix, env.NPM_CONFIG_PREFIX, dirname(dirname(process.execPath))];
  const windows = [env.APPDATA && join(env.APPDATA, 'npm'), dirname(process.execPath)];
  return process.platform === 'win32'
    ? [...prefixes, ...windows].filter(isText).map((prefix) => join(prefix, 'node_modules'))
    : [...prefixes, '/usr/local', '/usr', '/opt/homebrew']
        .filter(isText)
        .map((prefix) => join(prefix, 'lib', 'node_modules'));
}

function isText(value: string | undefined): value is string {
  return value !== undefined && value !== '';
}
