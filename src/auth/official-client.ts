import { delimiter, dirname, join } from 'node:path';
import type { Homes, Settings } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { Clock, Env } from '../core/io.ts';
import { isObject, tryParseJson } from '../core/json.ts';
import { realPath } from '../platform/files/path.ts';
import { readBytes, readDirectory, readFileState } from '../platform/files/read.ts';
import { makePrivateDirectory, quarantine, writeAtomic } from '../platform/files/write.ts';
import { runtimePath, systemPlatform } from '../platform/runtime/system.ts';

const OFFICIAL = '@google/gemini-cli';
/** Bundled since 0.3; older versions have the constants in the core package, below it or beside it. */
const FOLDERS = ['bundle', 'dist', 'node_modules/@google/gemini-cli-core/dist', '../gemini-cli-core/dist'];

/** The OAuth client of a sign-in. A desktop client's secret is not confidential, but it is not ours to publish. */
export interface ClientPair {
  readonly id: string;
  readonly secret: string;
}

export function clientPairFile(home: string): string {
  return join(home, 'oauth-client.json');
}

/**
 * The OAuth client of the official CLI: from the environment, from gmn's settings, or found in the installed official
 * CLI and cached until its version changes. Throws AppError `auth` if it is not found, `config` if the environment has
 * only half of it.
 */
export async function findClientPair(
  settings: Pick<Settings, 'env' | 'oauthClient'>,
  homes: Homes,
  clock: Clock,
): Promise<ClientPair> {
  const { GMN_OAUTH_CLIENT_ID: id, GMN_OAUTH_CLIENT_SECRET: secret } = settings.env;
  if (id && secret) return { id: id.trim(), secret: secret.trim() };
  if (id || secret) throw halfPairError(id ? 'GMN_OAUTH_CLIENT_SECRET' : 'GMN_OAUTH_CLIENT_ID');
  if (settings.oauthClient !== undefined) return settings.oauthClient;
  const file = clientPairFile(homes.gmn);
  const cached = await readCachedPair(file, clock);
  if (cached !== undefined) return cached;
  const installed = await findInstalledPackage(OFFICIAL, 'gemini', settings.env);
  const pair = installed === undefined ? undefined : await searchPackage(installed.directory);
  if (installed === undefined || pair === undefined) throw noClientError(installed !== undefined);
  const record = { version: 1, client_id: pair.id, client_secret: pair.secret, found_in: installed };
  try {
    await makePrivateDirectory(homes.gmn);
    await writeAtomic(file, `${JSON.stringify(record)}\n`, { mode: 0o600 });
  } catch {
    // Not cached: found again next time.
  }
  return pair;
}

async function readCachedPair(path: string, clock: Clock): Promise<ClientPair | undefined> {
  const file = await readFileState(path);
  if (file.kind !== 'text' || !file.isOurs) return undefined;
  const value = tryParseJson(file.text);
  const pair = tryParseCachedPair(value);
  if (pair === undefined) {
    await quarantine(path, clock.now());
    return undefined;
  }
  const now = await readPackage(pair.directory, OFFICIAL);
  return now?.version === pair.version ? { id: pair.id, secret: pair.secret } : undefined;
}

function tryParseCachedPair(value: unknown) {
  if (!isObject(value) || value.version !== 1 || !isObject(value.found_in)) return undefined;
  const { client_id: id, client_secret: secret } = value;
  const { directory, version } = value.found_in;
  const isWhole =
    typeof id === 'string' &&
    typeof secret === 'string' &&
    typeof directory === 'string' &&
    typeof version === 'string';
  return isWhole ? { id, secret, directory, version } : undefined;
}

async function searchPackage(directory: string): Promise<ClientPair | undefined> {
  for await (const source of readScripts(directory, FOLDERS)) {
    const id = findConstant(source, 'OAUTH_CLIENT_ID');
    const secret = findConstant(source, 'OAUTH_CLIENT_SECRET');
    if (id !== undefined && secret !== undefined) return { id, secret };
  }
  return undefined;
}

function findConstant(source: string, name: string): string | undefined {
  for (let at = source.indexOf(name); at !== -1; at = source.indexOf(name, at + 1)) {
    const value = /^\s*=\s*(["'])([\w.-]{10,200})\1/.exec(source.slice(at + name.length, at + name.length + 260))?.[2];
    if (value !== undefined) return value;
  }
  return undefined;
}

function halfPairError(missing: string): AppError {
  return new AppError('config', `${missing} is not set, but the other half of the OAuth client is`, {
    hint: 'Set both GMN_OAUTH_CLIENT_ID and GMN_OAUTH_CLIENT_SECRET, or neither.',
  });
}

function noClientError(isInstalled: boolean): AppError {
  const where = isInstalled ? 'could not be found in the installed official CLI' : 'needs the official CLI (gemini)';
  return new AppError('auth', `authentication failed: the OAuth client to refresh this sign-in ${where}`, {
    hint: 'Install it: npm i -g @google/gemini-cli, or set GMN_OAUTH_CLIENT_ID and GMN_OAUTH_CLIENT_SECRET',
  });
}

const MAX_FILES = 500;
const MAX_FILE_BYTES = 64_000_000;
const MAX_DEPTH = 6;

interface InstalledPackage {
  readonly directory: string;
  readonly version: string;
}

/** By its command on PATH, else in npm's global root. Runs nothing. Never throws. */
async function findInstalledPackage(name: string, command: string, env: Env): Promise<InstalledPackage | undefined> {
  for (const directory of (env.PATH ?? env.Path ?? '').split(delimiter).filter(Boolean)) {
    for (const file of [command, `${command}.cmd`]) {
      const real = realPath(join(directory, file));
      if (real === undefined) continue;
      const found = (await findPackageAbove(real, name)) ?? (await findPackageNear(directory, name));
      if (found !== undefined) return found;
    }
  }
  for (const root of listGlobalRoots(env)) {
    const found = await readPackage(join(root, name), name);
    if (found !== undefined) return found;
  }
  return undefined;
}

async function readPackage(directory: string, name: string): Promise<InstalledPackage | undefined> {
  try {
    const manifest: unknown = JSON.parse(await readScriptText(join(directory, 'package.json'), 'utf8'));
    if (!isObject(manifest) || manifest.name !== name || typeof manifest.version !== 'string') return undefined;
    return { directory, version: manifest.version };
  } catch {
    return undefined;
  }
}

/** Texts of a package's JavaScript files, in the order of `folders`, at most `MAX_FILES`. Never throws. */
async function* readScripts(directory: string, folders: readonly string[]): AsyncGenerator<string, void> {
  let left = MAX_FILES;
  for (const folder of folders) {
    for await (const path of listScripts(join(directory, folder), MAX_DEPTH)) {
      if (left-- <= 0) return;
      yield await readScriptText(path, 'latin1').catch(() => '');
    }
  }
}

async function readScriptText(path: string, encoding: BufferEncoding): Promise<string> {
  const bytes = await readBytes(path, {
    maxBytes: MAX_FILE_BYTES,
    tooLarge: (size) => new AppError('usage', `${path} is too large: ${size} bytes`, { hint: 'It is not read.' }),
  });
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString(encoding);
}

async function* listScripts(directory: string, depth: number): AsyncGenerator<string, void> {
  for (const { name, kind } of await readDirectory(directory).catch(() => [])) {
    const path = join(directory, name);
    if (kind === 'file' && /\.[cm]?js$/.test(name)) yield path;
    else if (kind === 'directory' && depth > 0) yield* listScripts(path, depth - 1);
  }
}

async function findPackageAbove(file: string, name: string): Promise<InstalledPackage | undefined> {
  let directory = dirname(file);
  for (let depth = 0; depth < MAX_DEPTH; depth += 1) {
    const found = await readPackage(directory, name);
    if (found !== undefined || directory === dirname(directory)) return found;
    directory = dirname(directory);
  }
  return undefined;
}

/** For wrapper scripts in place of links, as on Windows and with some package managers. */
async function findPackageNear(directory: string, name: string): Promise<InstalledPackage | undefined> {
  const at = (path: string): Promise<InstalledPackage | undefined> => readPackage(join(directory, path, name), name);
  return (await at('node_modules')) ?? (await at('../lib/node_modules')) ?? (await at('..'));
}

function listGlobalRoots(env: Env): readonly string[] {
  const executable = runtimePath();
  const prefixes = [env.npm_config_prefix, env.NPM_CONFIG_PREFIX, dirname(dirname(executable))];
  const windows = [env.APPDATA && join(env.APPDATA, 'npm'), dirname(executable)];
  return systemPlatform() === 'win32'
    ? [...prefixes, ...windows].filter(isNonEmpty).map((prefix) => join(prefix, 'node_modules'))
    : [...prefixes, '/usr/local', '/usr', '/opt/homebrew']
        .filter(isNonEmpty)
        .map((prefix) => join(prefix, 'lib', 'node_modules'));
}

function isNonEmpty(value: string | undefined): value is string {
  return value !== undefined && value !== '';
}
