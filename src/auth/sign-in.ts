import { join } from 'node:path';
import type { Credential } from '../core/credential.ts';
import { AppError, serverError } from '../core/error.ts';
import type { Clock } from '../core/io.ts';
import { isObject, tryParseJson } from '../core/json.ts';
import { type FileText, readFileState } from '../platform/files/read.ts';
import { writeAtomic } from '../platform/files/write.ts';
import { tryCreateExclusive } from '../platform/files/write-sync.ts';
import { detectMachine } from '../platform/host.ts';
import { sha256 } from '../platform/runtime/native.ts';
import { createAdcChoice, SIGN_IN_SCOPES } from './adc.ts';
import type { ChoiceInput, CredentialChoice } from './choice.ts';
import { findClientPair } from './official-client.ts';
import { geminiFile, readActiveAccount } from './official-files.ts';
import {
  avoidsKeyring,
  ENCRYPTED_FILE,
  encryptedFile,
  keychain,
  passwordStore,
  usesEncryptedFile,
} from './official-secrets.ts';
import {
  type GrantedToken,
  isToken,
  type StoredToken,
  type TokenStore,
  tryParseOauthFile,
  unreadableSignInError,
  waitUntilComplete,
} from './token.ts';
import { tokenCache } from './token-cache.ts';
import { requestGrant } from './token-endpoint.ts';
import { tokenKeeper } from './token-keeper.ts';

const FILE = 'oauth_creds.json';
const TERMS =
  "gmn uses the official Gemini CLI's Google sign-in. Google's terms for that sign-in apply, and Google may not allow " +
  'it for other programs; an API key (gmn auth set-key) is the way it supports. This note is shown once.';

export async function chooseSignIn(input: ChoiceInput): Promise<CredentialChoice | undefined> {
  const { env } = input.settings;
  const given = env.GOOGLE_CLOUD_ACCESS_TOKEN?.trim();
  if (given && env.GOOGLE_GENAI_USE_GCA) return createTokenChoice(given);
  for (const store of listStores(input)) {
    const standsIn = store.source === geminiFile(input, FILE).name ? await findKeyFileChoice(input) : undefined;
    if (standsIn !== undefined) return standsIn;
    const token = await store.read(input.signal);
    if (token === undefined) continue;
    if (token.accessToken === undefined && token.refreshToken === undefined) throw emptyStoreError(store.source);
    return { ...(await createSignIn(input, store, token)), notices: await takeTermsNotice(input) };
  }
  if (!env.GOOGLE_APPLICATION_CREDENTIALS) return undefined;
  return createAdcChoice({ ...toAdcOptions(input), scopes: SIGN_IN_SCOPES });
}

function listStores(input: ChoiceInput): readonly TokenStore[] {
  const { clock, settings, notify = () => {} } = input;
  const options = { machine: input.machine ?? detectMachine(), clock, notify };
  const { path, name } = geminiFile(input, FILE);
  const plain = oauthFile(path, name, { clock, uid: options.machine.uid });
  const isMac = options.machine.platform === 'darwin' && !avoidsKeyring(settings.env);
  const mac = isMac ? [passwordStore(keychain(options), clock)] : [];
  const openEncrypted = (): TokenStore =>
    passwordStore(encryptedFile(geminiFile(input, ENCRYPTED_FILE), options), clock);
  if (usesEncryptedFile(settings.env)) return [...mac, openEncrypted(), plain];
  return avoidsKeyring(settings.env) ? [plain, openEncrypted()] : [...mac, plain];
}

async function createSignIn(
  input: ChoiceInput,
  store: TokenStore,
  first: StoredToken,
): Promise<Omit<CredentialChoice, 'notices'>> {
  const { settings, clock, trace, env, send, notify = () => {} } = input;
  const homes = input.homes();
  const cache = tokenCache(homes.gmn, { clock, uid: (input.machine ?? detectMachine()).uid });
  const cached = first.refreshToken === undefined ? undefined : await cache.read(first.refreshToken);
  const account = cached?.account ?? (await identifyAccount(input, first));
  const keeper = tokenKeeper({
    store,
    account,
    first,
    cache,
    home: homes.gmn,
    clock,
    trace,
    notify,
    grant: async (refreshToken, signal) => {
      const pair = await findClientPair(settings, homes, clock);
      return requestGrant({ refreshToken, pair, env, send, clock, trace, signal });
    },
  });
  const credential: Credential = {
    type: 'oauth-personal',
    source: store.source,
    account,
    headers: async (signal) => ({ authorization: `Bearer ${await keeper.bearer(signal)}` }),
    refresh: (signal, refused) => keeper.refresh(signal, refused?.authorization?.replace(/^Bearer /, '')),
  };
  const canRefresh = first.refreshToken !== undefined;
  const expiresAt = Math.max(first.expiresAt ?? 0, cached?.expiresAt ?? 0);
  return { credential, carrier: 'bearer', token: { canRefresh, expiresAt: expiresAt || undefined } };
}

/** Hash of the user's name if known, else of the secret; the cache keeps it when the secret is replaced. */
async function identifyAccount(
  input: ChoiceInput,
  { subject, refreshToken, accessToken }: StoredToken,
): Promise<string> {
  const name = subject ?? (await readActiveAccount(input)) ?? refreshToken ?? accessToken ?? '';
  return sha256(name).slice(0, 16);
}

/** Never refreshed by gmn: that is up to the program that sets the variable. */
function createTokenChoice(token: string): CredentialChoice {
  if (!isToken(token)) {
    throw serverError('auth', 'GOOGLE_CLOUD_ACCESS_TOKEN contains characters that no token has', {
      hint: 'Set it to the token alone, e.g. to what this prints: gcloud auth print-access-token',
    });
  }
  const credential: Credential = {
    type: 'oauth-personal',
    source: 'GOOGLE_CLOUD_ACCESS_TOKEN',
    account: sha256(token).slice(0, 16),
    headers: async () => ({ authorization: `Bearer ${token}` }),
  };
  return { credential, carrier: 'bearer', notices: [], token: { canRefresh: false } };
}

/** A service account key or the like in place of the sign-in file. The official CLI accepts it, too. */
async function findKeyFileChoice(input: ChoiceInput): Promise<CredentialChoice | undefined> {
  const { clock, signal } = input;
  const { path, name } = geminiFile(input, FILE);
  const value = await readOauthDocument(path, { name, clock, signal });
  if (typeof value?.type !== 'string' || value.type === 'authorized_user') return undefined;
  return createAdcChoice({ ...toAdcOptions(input), scopes: SIGN_IN_SCOPES, document: { source: name, value } });
}

function toAdcOptions({ settings, env, send, clock }: ChoiceInput) {
  return { type: 'oauth-personal', env: settings.env, realEnv: env, send, clock } as const;
}

async function takeTermsNotice(input: ChoiceInput): Promise<readonly string[]> {
  if (input.isRehearsal) return [];
  const marker = join(input.homes().gmn, 'sign-in-note-shown');
  const marked = tryCreateExclusive(marker, '');
  // If the marker cannot be written, the note goes to the trace only; otherwise every run would show it.
  if (marked === 'failed') input.trace(`auth: ${TERMS}`);
  return marked === 'created' ? [TERMS] : [];
}

function emptyStoreError(source: string): AppError {
  return new AppError('auth', `authentication failed: ${source} contains no token`, {
    hint: 'Please re-authenticate using: gemini',
  });
}

const MAX_RACES = 5;

interface OauthFileOptions {
  readonly clock: Clock;
  readonly uid: number | undefined;
}

/** The official CLI's plain file. `name` is for the user. Written only if it belongs to `uid`. */
export function oauthFile(path: string, name: string, { clock, uid }: OauthFileOptions): TokenStore {
  return {
    source: name,
    async read(signal) {
      const found = await readOauthDocument(path, { name, clock, signal });
      return found === undefined ? undefined : tryParseOauthFile(found, clock.now());
    },
    async peek() {
      const file = await readFileState(path);
      return file.kind === 'text' ? tryParseOauthFile(tryParseJson(file.text), clock.now()) : undefined;
    },
    async rotate(used, granted) {
      for (let attempt = 0; attempt < MAX_RACES; attempt += 1) {
        const file = await readFileState(path, uid);
        const text = file.kind === 'text' && file.isOurs ? replaceTokens(file, used, granted) : undefined;
        if (file.kind !== 'text' || text === undefined) return false;
        if ((await writeAtomic(path, text, { expected: file.version })) === 'written') return true;
      }
      return false;
    },
  };
}

/** Throws AppError `auth` if it cannot be read, or is still empty or damaged after a second. */
function readOauthDocument(
  path: string,
  options: { readonly name: string; readonly clock: Clock; readonly signal: AbortSignal },
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const { name, clock, signal } = options;
  return waitUntilComplete(
    async () => {
      const file = await readFileState(path);
      if (file.kind === 'absent') return undefined;
      if (file.kind === 'unreadable') throw unreadableSignInError(name, file.why);
      const value = tryParseJson(file.text);
      return isObject(value) ? value : 'broken';
    },
    { path: name, clock, signal },
  );
}

function replaceTokens(file: FileText, used: string, granted: GrantedToken): string | undefined {
  const value = tryParseJson(file.text);
  if (!isObject(value) || tryParseOauthFile(value, 0)?.refreshToken !== used) return undefined;
  const changed = {
    ...value,
    ...granted.rest,
    access_token: granted.accessToken,
    refresh_token: granted.refreshToken ?? used,
    expiry_date: granted.expiresAt,
  };
  return `${JSON.stringify(changed, null, 2)}${file.text.endsWith('\n') ? '\n' : ''}`;
}
