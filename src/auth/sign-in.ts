import { join } from 'node:path';
import type { Credential } from '../core/credential.ts';
import { AppError } from '../core/error.ts';
import { createFile } from '../platform/atomic-file.ts';
import { sha256 } from '../platform/hash.ts';
import { thisMachine } from '../platform/machine.ts';
import { adcCredential, SIGN_IN_SCOPES } from './adc.ts';
import type { Choice, ChoiceInput } from './choice.ts';
import { findClientPair } from './client-pair.ts';
import { oauthFile, readOauthDocument } from './oauth-file.ts';
import { avoidsKeyring, encryptedFile, keychain, wantsEncrypted } from './official-secrets.ts';
import { passwordStore } from './password-store.ts';
import type { StoredToken } from './token.ts';
import { tokenCache } from './token-cache.ts';
import { requestGrant } from './token-endpoint.ts';
import { tokenKeeper } from './token-keeper.ts';
import type { TokenStore } from './token-store.ts';

const FILE = '~/.gemini/oauth_creds.json';
const TERMS =
  "gmn uses the official Gemini CLI's Google sign-in. Google's terms for that sign-in apply, and Google may not allow " +
  'it for other programs; an API key (gmn auth set-key) is the way it supports. This note is shown once.';

/** The official CLI's Google sign-in, if there is one. Throws AppError `auth` if there is one that cannot be used. */
export async function chooseSignIn(input: ChoiceInput): Promise<Choice | undefined> {
  const { env } = input.settings;
  const given = env.GOOGLE_CLOUD_ACCESS_TOKEN?.trim();
  if (given && env.GOOGLE_GENAI_USE_GCA) return givenToken(given);
  for (const store of stores(input)) {
    const standsIn = store.source === FILE ? await standIn(input) : undefined;
    if (standsIn !== undefined) return standsIn;
    const token = await store.read(input.signal);
    if (token === undefined) continue;
    if (token.accessToken === undefined && token.refreshToken === undefined) throw empty(store.source);
    return { ...(await signedIn(input, store, token)), notices: await terms(input) };
  }
  if (!env.GOOGLE_APPLICATION_CREDENTIALS) return undefined;
  const credential = await adcCredential({ ...adcOptions(input), scopes: SIGN_IN_SCOPES });
  return { credential, carrier: 'bearer', notices: [] };
}

/** The stores to try, in the order in which the official CLI and gmn's requirements look. */
function stores(input: ChoiceInput): readonly TokenStore[] {
  const { clock, settings, say = () => {} } = input;
  const options = { machine: input.machine ?? thisMachine(), clock, say };
  const { gemini } = input.homes();
  const plain = oauthFile(join(gemini, 'oauth_creds.json'), FILE, { clock, uid: options.machine.uid });
  const isMac = options.machine.platform === 'darwin' && !avoidsKeyring(settings.env);
  const mac = isMac ? [passwordStore(keychain(options), clock)] : [];
  const sealed = (): TokenStore => passwordStore(encryptedFile(gemini, options), clock);
  if (wantsEncrypted(settings.env)) return [...mac, sealed(), plain];
  return avoidsKeyring(settings.env) ? [plain, sealed()] : [...mac, plain];
}

async function signedIn(input: ChoiceInput, store: TokenStore, first: StoredToken): Promise<Omit<Choice, 'notices'>> {
  const { settings, clock, trace, env, send, say = () => {} } = input;
  const homes = input.homes();
  const cache = tokenCache(homes.gmn, { clock, uid: (input.machine ?? thisMachine()).uid });
  const keeper = tokenKeeper({
    store,
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
  const identity = first.subject ?? first.refreshToken ?? first.accessToken ?? '';
  const credential: Credential = {
    type: 'oauth-personal',
    source: store.source,
    account: sha256(identity).slice(0, 16),
    headers: async (signal) => ({ authorization: `Bearer ${await keeper.bearer(signal)}` }),
    renew: keeper.renew,
  };
  const isRenewable = first.refreshToken !== undefined;
  const cached =
    first.refreshToken !== undefined && input.isRehearsal ? await cache.read(first.refreshToken) : undefined;
  const expiresAt = Math.max(first.expiresAt ?? 0, cached?.expiresAt ?? 0);
  return { credential, carrier: 'bearer', token: { isRenewable, ...(expiresAt === 0 ? {} : { expiresAt }) } };
}

/** A token that someone else keeps fresh: used as it is. */
function givenToken(token: string): Choice {
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
  const path = join(input.homes().gemini, 'oauth_creds.json');
  const value = await readOauthDocument(path, { name: FILE, clock, signal });
  if (typeof value?.type !== 'string' || value.type === 'authorized_user') return undefined;
  const document = { source: FILE, value };
  const credential = await adcCredential({ ...adcOptions(input), scopes: SIGN_IN_SCOPES, document });
  return { credential, carrier: 'bearer', notices: [] };
}

function adcOptions({ settings, env, send, clock }: ChoiceInput) {
  return { type: 'oauth-personal', env: settings.env, realEnv: env, send, clock } as const;
}

async function terms(input: ChoiceInput): Promise<readonly string[]> {
  if (input.isRehearsal) return [];
  const marker = join(input.homes().gmn, 'sign-in-note-shown');
  return (await createFile(marker, '')) === 'exists' ? [] : [TERMS];
}

function empty(source: string): AppError {
  return new AppError('auth', `authentication failed: ${source} holds no token`, {
    hint: 'Please re-authenticate using: gemini',
  });
}
