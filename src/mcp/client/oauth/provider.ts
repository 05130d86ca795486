import { AppError } from '../../../core/error.ts';
import type { Clock } from '../../../core/io.ts';
import type { JsonObject } from '../../../core/json.ts';
import { isLoopback } from '../../../core/text/url.ts';
import { randomId } from '../../../platform/runtime/random-id.ts';
import type { RemoteDefinition } from '../definition.ts';
import type { SdkAuthProvider, SdkDiscovery } from '../sdk.ts';
import type { ChangeSignIn, SignInStore } from './store.ts';

interface OAuthProviderOptions {
  readonly definition: RemoteDefinition;
  readonly store: SignInStore;
  readonly clock: Pick<Clock, 'now'>;
  readonly redirectUrl: string;
  /** Has the person sign in at this address and exchanges the code. Throws AppError `mcp` where nobody can be asked. */
  readonly authorize: (url: URL, state: string) => Promise<void>;
  readonly mayRegister: boolean;
}

interface OAuthProvider extends SdkAuthProvider {
  /** Undefined before the first request. */
  issuer(): string | undefined;
}

export function createOAuthProvider(options: OAuthProviderOptions): OAuthProvider {
  const { definition, store, clock, redirectUrl } = options;
  const { clientId, clientSecret, clientMetadataUrl, scopes } = definition.oauth ?? { isEnabled: true };
  // Never written to disk.
  let state = '';
  let verifier = '';
  let issuer: string | undefined;
  let discovery: SdkDiscovery | undefined;
  return {
    redirectUrl,
    clientMetadata: createClientMetadata(redirectUrl, scopes),
    clientMetadataUrl,
    state() {
      state = randomId();
      return state;
    },
    issuer: () => issuer,
    clientInformation(context) {
      issuer = context?.issuer;
      if (clientId === undefined) return findRegistration(issuer, options);
      return { client_id: clientId, client_secret: clientSecret };
    },
    saveClientInformation: async (client, context) => {
      // A client id from the settings is the user's to change.
      if (clientId !== undefined) return;
      if (!options.mayRegister) throw signInRequiredError();
      await store.change(requireIssuer(context), { client: client as JsonObject, redirectUrl });
    },
    tokens: (context) => toTokens(store.read(context?.issuer).tokens),
    async saveTokens(tokens, context) {
      // Tokens of a refresh are saved already, and another process may have newer ones by now.
      if (verifier === '') return;
      verifier = '';
      await saveTokens({ change: store.change, clock }, requireIssuer(context), tokens as JsonObject);
    },
    saveCodeVerifier(code) {
      verifier = code;
    },
    codeVerifier: () => verifier,
    saveDiscoveryState(found) {
      discovery = found;
    },
    discoveryState: () => discovery,
    async redirectToAuthorization(url) {
      checkSignInUrl(url);
      await options.authorize(url, state);
      // The next sign-in must discover again: the server may have moved to another issuer.
      discovery = undefined;
    },
    async invalidateCredentials(scope) {
      if (issuer !== undefined) await store.change(issuer, INVALIDATED[scope]);
      if (scope === 'all' || scope === 'discovery') discovery = undefined;
    },
  };
}

/** What each scope of an invalidation removes from the store. */
const INVALIDATED = {
  all: { client: undefined, tokens: undefined, expiresAt: undefined },
  client: { client: undefined },
  tokens: { tokens: undefined, expiresAt: undefined },
  verifier: {},
  discovery: {},
};

function createClientMetadata(redirectUrl: string, scopes: readonly string[] | undefined) {
  return {
    client_name: 'gmn',
    redirect_uris: [redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    scope: scopes?.join(' '),
  };
}

export async function saveTokens(
  { change, clock }: { readonly change: ChangeSignIn; readonly clock: Pick<Clock, 'now'> },
  issuer: string,
  tokens: JsonObject,
): Promise<void> {
  const { expires_in: seconds } = tokens;
  await change(issuer, {
    tokens: { ...tokens, issuer },
    expiresAt: typeof seconds === 'number' ? clock.now() + seconds * 1000 : undefined,
  });
}

/** A registration is valid for one issuer and one redirect URL. */
function findRegistration(issuer: string | undefined, { store, redirectUrl, mayRegister }: OAuthProviderOptions) {
  const { client, redirectUrl: known } = store.read(issuer);
  const isUsable = typeof client?.client_id === 'string' && (known === redirectUrl || !mayRegister);
  if (!isUsable && !mayRegister) throw signInRequiredError();
  return isUsable ? (client as Client) : undefined;
}

/** Without a known issuer, the credentials could later be sent to anybody. */
function requireIssuer(context: { readonly issuer?: string } | undefined): string {
  if (context?.issuer === undefined) throw new AppError('mcp', 'it does not say where to sign in');
  return context.issuer;
}

/** The URL comes from the server, and a browser is started with it. */
function checkSignInUrl(url: URL): void {
  if (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname))) return;
  throw new AppError('mcp', `its sign-in page is not at an https address (${url.protocol})`);
}

type Client = Awaited<ReturnType<SdkAuthProvider['clientInformation']>>;
type Tokens = Awaited<ReturnType<SdkAuthProvider['tokens']>>;

function toTokens(tokens: JsonObject | undefined): Tokens {
  return typeof tokens?.access_token === 'string' ? (tokens as Tokens) : undefined;
}

/** For when nobody can be asked; `toServerError` adds the server and the hint. */
export function signInRequiredError(): AppError {
  return new AppError('mcp', 'it requires a sign-in', { status: 401 });
}
