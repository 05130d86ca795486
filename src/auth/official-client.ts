import { join } from 'node:path';
import type { Homes, Settings } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { Clock } from '../core/io.ts';
import { isObject } from '../core/json.ts';
import { makePrivateDirectory, readFileState, replaceFile, setAside } from '../platform/files/write.ts';
import { findInstalledPackage, packageAt, packageSources } from './installed-package.ts';
import { parseJson } from './token.ts';

const OFFICIAL = '@google/gemini-cli';
/** Bundled since 0.3; before that the constants were in the core package, below it or beside it. */
const FOLDERS = ['bundle', 'dist', 'node_modules/@google/gemini-cli-core/dist', '../gemini-cli-core/dist'];

/** The OAuth client a sign-in belongs to. It is nobody's secret on a desktop, yet it is not ours to publish. */
export interface ClientPair {
  readonly id: string;
  readonly secret: string;
}

/** The file below gmn's home that remembers the pair. */
export function clientPairFile(home: string): string {
  return join(home, 'oauth-client.json');
}

/**
 * The pair that the official CLI signs in with: from the environment, from gmn's settings, or found in the installed
 * official CLI and remembered as long as that version stays. Throws AppError `auth` if it is nowhere, `config` if the
 * environment has only one half of it.
 */
export async function findClientPair(
  settings: Pick<Settings, 'env' | 'oauthClient'>,
  homes: Homes,
  clock: Clock,
): Promise<ClientPair> {
  const { GMN_OAUTH_CLIENT_ID: id, GMN_OAUTH_CLIENT_SECRET: secret } = settings.env;
  if (id && secret) return { id: id.trim(), secret: secret.trim() };
  if (id || secret) throw halfPair(id ? 'GMN_OAUTH_CLIENT_SECRET' : 'GMN_OAUTH_CLIENT_ID');
  if (settings.oauthClient !== undefined) return settings.oauthClient;
  const file = clientPairFile(homes.gmn);
  const remembered = await readRemembered(file, clock);
  if (remembered !== undefined) return remembered;
  const installed = await findInstalledPackage(OFFICIAL, 'gemini', settings.env);
  const pair = installed === undefined ? undefined : await searchPackage(installed.directory);
  if (installed === undefined || pair === undefined) throw noPair(installed !== undefined);
  const record = { version: 1, client_id: pair.id, client_secret: pair.secret, found_in: installed };
  try {
    await makePrivateDirectory(homes.gmn);
    await replaceFile(file, `${JSON.stringify(record)}\n`, { mode: 0o600 });
  } catch {
    // Not remembered: found again next time.
  }
  return pair;
}

async function readRemembered(path: string, clock: Clock): Promise<ClientPair | undefined> {
  const file = await readFileState(path);
  if (file.kind !== 'text' || !file.isOurs) return undefined;
  const value = parseJson(file.text);
  const pair = parseRemembered(value);
  if (pair === undefined) {
    await setAside(path, clock.now());
    return undefined;
  }
  const now = await packageAt(pair.directory, OFFICIAL);
  return now?.version === pair.version ? { id: pair.id, secret: pair.secret } : undefined;
}

interface Remembered extends ClientPair {
  readonly directory: string;
  readonly version: string;
}

function parseRemembered(value: unknown): Remembered | undefined {
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
  for await (const source of packageSources(directory, FOLDERS)) {
    const id = constant(source, 'OAUTH_CLIENT_ID');
    const secret = constant(source, 'OAUTH_CLIENT_SECRET');
    if (id !== undefined && secret !== undefined) return { id, secret };
  }
  return undefined;
}

/** The value of `NAME = "…"`; looked up by position first, since most of the megabytes hold no such name. */
function constant(source: string, name: string): string | undefined {
  for (let at = source.indexOf(name); at !== -1; at = source.indexOf(name, at + 1)) {
    const value = /^\s*=\s*(["'])([\w.-]{10,200})\1/.exec(source.slice(at + name.length, at + name.length + 260))?.[2];
    if (value !== undefined) return value;
  }
  return undefined;
}

function halfPair(missing: string): AppError {
  return new AppError('config', `${missing} is not set, but the other half of the OAuth client is`, {
    hint: 'Set both GMN_OAUTH_CLIENT_ID and GMN_OAUTH_CLIENT_SECRET, or neither.',
  });
}

function noPair(isInstalled: boolean): AppError {
  const where = isInstalled ? 'could not be found in the installed official CLI' : 'needs the official CLI (gemini)';
  return new AppError('auth', `authentication failed: the OAuth client to refresh this sign-in ${where}`, {
    hint: 'Install it: npm i -g @google/gemini-cli, or set GMN_OAUTH_CLIENT_ID and GMN_OAUTH_CLIENT_SECRET',
  });
}
