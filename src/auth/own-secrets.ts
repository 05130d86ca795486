import { join } from 'node:path';
import type { App } from '../core/app.ts';
import type { Env } from '../core/io.ts';
import { isList, isObject, type JsonValue, tryParseJson } from '../core/json.ts';
import { mayHoldCredential } from '../core/text/names.ts';
import { readDirectory, readFileState } from '../platform/files/read.ts';
import { findGcloudPath } from './key-document.ts';

const OWN_FILES = [/^key\.json/, /^oauth-client\.json/];
const OWN_DIRECTORIES = ['tokens', 'mcp'];
const OFFICIAL_FILES = [/^oauth_creds\.json/, /^gemini-credentials\.json/, /^mcp-oauth-tokens/];

const VARIABLES = [
  'GEMINI_API_KEY',
  'GOOGLE_API_KEY',
  'GOOGLE_CLOUD_ACCESS_TOKEN',
  'GMN_OAUTH_CLIENT_SECRET',
  'GMN_MCP_TOKEN',
];

/** Field names of secrets in those files; `client_id` and the like are not secret. */
const SECRET_KEY = /key$|token$|secret$/i;

/**
 * The current credentials of gmn and of the official CLI, from the environment and their files, and Google's key files that a run
 * may use. Secrets in the system keyring are in no file, so they cannot be sent by mistake. `more` are further environments, such
 * as those of `.env` files. Never throws.
 */
export async function readOwnSecrets(
  app: Pick<App, 'homes' | 'settings'>,
  more: readonly Env[],
): Promise<ReadonlySet<string>> {
  const settings = await app.settings();
  const secrets = [settings.env, ...more].flatMap((env) => VARIABLES.flatMap((name) => env[name]?.trim() ?? []));
  if (settings.oauthClient !== undefined) secrets.push(settings.oauthClient.secret);
  for (const path of [...(await listSecretFiles(app)), ...listKeyFiles(settings.env)]) {
    const file = await readFileState(path);
    if (file.kind === 'text') secrets.push(...extractSecrets(file.text));
  }
  return new Set(secrets.filter(mayHoldCredential));
}

async function listSecretFiles({ homes }: Pick<App, 'homes'>): Promise<readonly string[]> {
  const { gmn, gemini } = homes();
  const found = await Promise.all([
    listFiles(gmn, OWN_FILES),
    listFiles(gemini, OFFICIAL_FILES),
    ...OWN_DIRECTORIES.map((name) => listFiles(join(gmn, name), [/\.json/])),
  ]);
  return found.flat();
}

function listKeyFiles(env: Env): readonly string[] {
  return [env.GOOGLE_APPLICATION_CREDENTIALS, findGcloudPath(env)].flatMap((path) => path || []);
}

async function listFiles(directory: string, names: readonly RegExp[]): Promise<readonly string[]> {
  const entries = await readDirectory(directory).catch(() => []);
  return entries
    .filter(({ name }) => names.some((pattern) => pattern.test(name)))
    .map(({ name }) => join(directory, name));
}

/** If the text is encrypted or damaged, all of it counts as secret. */
function extractSecrets(text: string): readonly string[] {
  const document = tryParseJson(text) as JsonValue | undefined;
  return document === undefined || typeof document !== 'object' ? [text.trim()] : collectSecretValues(document, '');
}

function collectSecretValues(value: JsonValue | undefined, key: string): readonly string[] {
  // A private key ends with a line break, which a copy of it may lack.
  if (typeof value === 'string') return SECRET_KEY.test(key) ? [value.trim()] : [];
  if (isList(value)) return value.flatMap((item) => collectSecretValues(item, key));
  return isObject(value) ? Object.entries(value).flatMap(([name, item]) => collectSecretValues(item, name)) : [];
}
