import { join } from 'node:path';
import type { Credential } from '../core/credential.ts';
import { AppError, refused } from '../core/error.ts';
import { createFile } from '../platform/files/write.ts';
import { thisMachine } from '../platform/host.ts';
import { sha256 } from '../platform/runtime/native.ts';
import { activeAccount } from './active-account.ts';
import { adcChoice, SIGN_IN_SCOPES } from './adc.ts';
import type { Choice, ChoiceInput } from './choice.ts';
import { oauthFile, readOauthDocument } from './oauth-file.ts';
import { findClientPair } from './official-client.ts';
import { geminiFile } from './official-files.ts';
import { avoidsKeyring, encryptedFile, keychain, SEALED_FILE, wantsEncrypted } from './official-secrets.ts';
import { passwordStore } from './password-store.ts';
import { isToken, type StoredToken } from './token.ts';
import { tokenCache } from './token-cache.ts';
import { requestGrant } from './token-endpoint.ts';
import { tokenKeeper } from './token-keeper.ts';
import type { TokenStore } from './token-store.ts';

const FILE = 'oauth_creds.json';
const TERMS =
  "gmn uses the official Gemini CLI's Google sign-in. Google's terms for that sign-in apply, and Google may not allow " +
  'it for other programs; an API key (gmn auth set-key) is the way it supports. This note is shown once.';

/** The official CLI's Google sign-in, if there is one. Throws AppError `auth` if there is one that cannot be used. */
export async function chooseSignIn(input: ChoiceInput): Promise<Choice | undefined> {
  const { env } = input.settings;
  const given = env.GOOGLE_CLOUD_ACCESS_TOKEN?.trim();
  if (given && env.GOOGLE_GENAI_USE_GCA) return givenToken(given);
  for (const store of stores(input)) {
    const standsIn = store.source === geminiFile(input, FILE).name ? await standIn(input) : undefined;
    if (standsIn !== undefined) return standsIn;
    const token = await store.read(input.signal);
    if (token === undefined) continue;
    if (token.accessToken === undefined && token.refreshToken === undefined) throw empty(store.source);
    return { ...(await signedIn(input, store, token)), notices: await terms(input) };
  }
  if (!env.GOOGLE_APPLICATION_CREDENTIALS) return undefined;
  return adcChoice({ ...adcOptions(input), scopes: SIGN_IN_SCOPES });
}

/** The stores to try, in the order in which the official CLI and gmn's requirements look. */
function stores(input: ChoiceInput): readonly TokenStore[] {
  const { clock, settings, say = () => {} } = input;
  const options = { machine: input.machine ?? thisMachine(), clock, say };
  const { path, name } = geminiFile(input, FILE);
  const plain = oauthFile(path, name, { clock, uid: options.machine.uid });
  const isMac = options.machine.platform === 'darwin' && !avoidsKeyring(settings.env);
  const mac = isMac ? [passwordStore(keychain(options), clock)] : [];
  const sealed = (): TokenStore => passwordStore(encryptedFile(geminiFile(input, SEALED_FILE), options), clock);
  if (wantsEncrypted(settings.env)) return [...mac, sealed(), plain];
  return avoidsKeyring(settings.env) ? [plain, sealed()] : [...mac, plain];
}

async function signedIn(input: ChoiceInput, store: TokenStore, first: StoredToken): Promise<Omit<Choice, 'notices'>> {
  const { settings, clock, trace, env, send, say = () => {} } = input;
  const homes = input.homes();
  const cache = tokenCache(homes.gmn, { clock, uid: (input.machine ?? thisMachine()).uid });
  const cached = first.refreshToken === undefined ? undefined : await cache.read(first.refreshToken);
  const account = cached?.account ?? (await accountOf(input, first));
  const keeper = tokenKeeper({
    store,
    account,
    first,
    cache,
    home: homes.gmn,
    clock,
    trace,
    say,
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
    renew: (signal, refused) => keeper.renew(signal, refused?.authorization?.replace(/^Bearer /, '')),
  };
  const isRenewable = first.refreshToken !== undefined;
  const expiresAt = Math.max(first.expiresAt ?? 0, cached?.expiresAt ?? 0);
  return { credential, carrier: 'bearer', token: { isRenewable, ...(expiresAt === 0 ? {} : { expiresAt }) } };
}

/** The person's name if there is one, else the secret's own: gmn's cache carries it on when the secret is replaced. */
async function accountOf(input: ChoiceInput, { subject, refreshToken, accessToken }: StoredToken): Promise<string> {
  const name = subject ?? (await activeAccount(input)) ?? refreshToken ?? accessToken ?? '';
  return sha256(name).slice(0, 16);
}

/** A token that someone else keeps fresh: used as it is. */
function givenToken(token: string): Choice {
  if (!isToken(token)) {
    throw refused('auth', 'GOOGLE_CLOUD_ACCESS_TOKEN holds characters that no token has', {
      hint: 'Set it to the token alone, e.g. to what this prints: gcloud auth print-access-token',
    });
  }
  const credential: Credential = {
    type: 'oauth-personal',
    source: 'GOOGLE_CLOUD_ACCESS_TOKEN',
    account: sha256(token).slice(0, 16),
    headers: async () => ({ authorization: `Bearer ${token}` }),
  };
  return { credential, carrier: 'bearer', notices: [], token: { isRenewable: false } };
}

/** A service account's key, or the like, put where the sign-in would be: the official CLI takes it, so does gmn. */
async function standIn(input: ChoiceInput): Promise<Choice | undefined> {
  const { clock, signal } = input;
  const { path, name } = geminiFile(input, FILE);
  const value = await readOauthDocument(path, { name, clock, signal });
  if (typeof value?.type !== 'string' || value.type === 'authorized_user') return undefined;
  return adcChoice({ ...adcOptions(input), scopes: SIGN_IN_SCOPES, document: { source: name, value } });
}

function adcOptions({ settings, env, send, clock }: ChoiceInput) {
  return { type: 'oauth-personal', env: settings.env, realEnv: env, send, clock } as const;
}

async function terms(input: ChoiceInput): Promise<readonly string[]> {
  if (input.isRehearsal) return [];
  const marker = join(input.homes().gmn, 'sign-in-note-shown');
  const marked = await createFile(marker, '');
  // Where it cannot be noted down, "once" cannot be kept; a note at every run would be worse than none.
  if (marked === 'failed') input.trace(`auth: ${TERMS}`);
  return marked === 'created' ? [TERMS] : [];
}

function empty(source: string): AppError {
  return new AppError('auth', `authentication failed: ${source} holds no token`, {
    hint: 'Please re-authenticate using: gemini',
  });
}
