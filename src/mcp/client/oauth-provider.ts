import { isLoopback } from '../../core/endpoint.ts';
import { AppError } from '../../core/error.ts';
import type { Clock } from '../../core/io.ts';
import type { JsonObject } from '../../core/json.ts';
import { randomId } from '../../platform/random-id.ts';
import type { RemoteDefinition } from './definition.ts';
import type { SignInStore } from './oauth-store.ts';
import { signInWanted } from './oauth-words.ts';
import type { SdkAuthProvider, SdkDiscovery } from './sdk.ts';

/** How the SDK signs in for us. */
export interface OAuthProviderOptions {
  readonly definition: RemoteDefinition;
  readonly store: SignInStore;
  readonly clock: Pick<Clock, 'now'>;
  readonly redirectUrl: string;
  /** Has the person sign in at this address, and the code exchanged. Throws AppError `mcp` where nobody can be asked. */
  readonly authorize: (url: URL, state: string) => Promise<void>;
  /** Whether gmn may register itself at the server. */
  readonly mayRegister: boolean;
}

/** The SDK's side of a sign-in: what it may remember, and what it must ask. Tokens are read anew for every request. */
export function oauthProvider(options: OAuthProviderOptions): SdkAuthProvider {
  const { definition, store, clock, redirectUrl } = options;
  const { clientId, clientSecret, clientMetadataUrl, scopes } = definition.oauth ?? { isEnabled: true };
  // Of the sign-in under way; never on disk.
  let state = '';
  let verifier = '';
  let discovery: SdkDiscovery | undefined;
  return {
    redirectUrl,
    clientMetadata: {
      client_name: 'gmn',
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      ...(scopes === undefined ? {} : { scope: scopes.join(' ') }),
    },
    ...(clientMetadataUrl === undefined ? {} : { clientMetadataUrl }),
    state() {
      state = randomId();
      return state;
    },
    clientInformation: () =>
      clientId === undefined
        ? registered(options)
        : { client_id: clientId, ...(clientSecret === undefined ? {} : { client_secret: clientSecret }) },
    saveClientInformation: async (client) => {
      // What the person wrote in the settings is theirs to change.
      if (clientId === undefined) await store.change({ client: parseFields(client), redirectUrl });
    },
    tokens: () => parseTokens(store.read().tokens),
    saveTokens: (tokens) => saveTokens(store, clock, parseFields(tokens)),
    saveCodeVerifier(code) {
      verifier = code;
    },
    codeVerifier: () => verifier,
    saveDiscoveryState(found) {
      discovery = found;
    },
    discoveryState: () => discovery,
    async redirectToAuthorization(url) {
      checkPage(url);
      await options.authorize(url, state);
      // The next sign-in must look again: the server may have moved to another issuer.
      discovery = undefined;
    },
    async invalidateCredentials(scope) {
      if (scope === 'all' || scope === 'client') await store.change({ client: undefined });
      if (scope === 'all' || scope === 'tokens') await store.change({ tokens: undefined, expiresAt: undefined });
      if (scope === 'all' || scope === 'discovery') discovery = undefined;
    },
  };
}

/** Keeps tokens; a refresh token that the server does not repeat stays. Throws AppError `config`. */
export async function saveTokens(store: SignInStore, clock: Pick<Clock, 'now'>, tokens: JsonObject): Promise<void> {
  const { refresh_token: kept } = store.read().tokens ?? {};
  const { expires_in: seconds } = tokens;
  await store.change({
    tokens: { ...(kept === undefined ? {} : { refresh_token: kept }), ...tokens },
    expiresAt: typeof seconds === 'number' ? clock.now() + seconds * 1000 : undefined,
  });
}

/** A registration is for one address to come back to. */
function registered({ store, redirectUrl, mayRegister }: OAuthProviderOptions) {
  const { client, redirectUrl: known } = store.read();
  const isUsable = typeof client?.client_id === 'string' && (known === redirectUrl || !mayRegister);
  if (!isUsable && !mayRegister) throw signInWanted();
  return isUsable ? parseClient(client) : undefined;
}

/** The address comes from the server, and a program will be started with it. */
function checkPage(url: URL): void {
  if (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname))) return;
  throw new AppError('mcp', `its page to sign in at is no https address (${url.protocol})`);
}

type Client = Awaited<ReturnType<SdkAuthProvider['clientInformation']>>;
type Tokens = Awaited<ReturnType<SdkAuthProvider['tokens']>>;

function parseClient(client: JsonObject): Client {
  return client as Client;
}

function parseTokens(tokens: JsonObject | undefined): Tokens {
  return typeof tokens?.access_token === 'string' ? (tokens as Tokens) : undefined;
}

function parseFields(value: object): JsonObject {
  return value as JsonObject;
}
