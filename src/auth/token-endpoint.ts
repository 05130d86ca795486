import { AppError } from '../core/error.ts';
import type { Clock, Env, SendHttp, Trace } from '../core/io.ts';
import { isObject } from '../core/json.ts';
import { checkEndpoint } from '../core/text/url.ts';
import { createDeadline } from '../platform/runtime/clock.ts';
import { libraryTransport } from './library-fetch.ts';
import type { ClientPair } from './official-client.ts';
import { type GrantedToken, isToken } from './token.ts';

const TOKEN_URL = 'https://oauth2.googleapis.com/token';
const ATTEMPT_DEADLINE_MS = 10_000;
const NO_RESPONSE = 'the token server did not answer within 10 s';
const DEFAULT_LIFETIME_MS = 3_600_000;
const MAX_LIFETIME_MS = 86_400_000;

export type Grant =
  | { readonly kind: 'granted'; readonly token: GrantedToken }
  | { readonly kind: 'refused'; readonly code: string }
  /** No usable response; says nothing about the sign-in. */
  | { readonly kind: 'unclear'; readonly why: string; readonly isWorthRetrying: boolean };

interface GrantRequest {
  readonly refreshToken: string;
  readonly pair: ClientPair;
  /** The real environment: a `.env` file must not redirect refresh tokens. */
  readonly env: Env;
  readonly send: SendHttp;
  readonly clock: Pick<Clock, 'now'>;
  readonly trace: Trace;
  readonly signal: AbortSignal;
}

/** One attempt of ten seconds, no redirect. Throws AppError `config` for a forbidden address only. */
export async function requestGrant(request: GrantRequest): Promise<Grant> {
  const url = checkEndpoint(request.env.GMN_OAUTH_TOKEN_URL || TOKEN_URL, 'GMN_OAUTH_TOKEN_URL');
  const grant = await sendGrant(request, url);
  request.trace(`auth: ${url.host} ${grant.kind}${grant.kind === 'unclear' ? `: ${grant.why}` : ''}`);
  return grant;
}

async function sendGrant(request: GrantRequest, url: URL): Promise<Grant> {
  const limit = createDeadline(request.signal, ATTEMPT_DEADLINE_MS, () => new AppError('api', NO_RESPONSE));
  try {
    return toGrant(await refreshWithLibrary(request, url, limit.signal), request.clock.now());
  } catch (thrown) {
    request.signal.throwIfAborted();
    const why = thrown instanceof AppError ? thrown.message : NO_RESPONSE;
    return { kind: 'unclear', why, isWorthRetrying: true };
  } finally {
    limit.clear();
  }
}

interface TokenResponse {
  readonly status: number;
  readonly body: unknown;
}

/** Throws what `send` throws. The library's own errors contain the request and its secrets, so none is passed on. */
async function refreshWithLibrary(request: GrantRequest, url: URL, signal: AbortSignal): Promise<TokenResponse> {
  const { OAuth2Client, gaxios } = (await import('./google-library.ts')).googleLibrary;
  const client = new OAuth2Client({
    clientId: request.pair.id,
    clientSecret: request.pair.secret,
    endpoints: { oauth2TokenUrl: url.href },
    transporterOptions: {
      ...libraryTransport({ send: request.send, signal: () => signal }),
      responseType: 'json',
      // The caller retries, with its own limits.
      retryConfig: { retry: 0, noResponseRetries: 0 },
    },
  });
  let body: unknown;
  // A copy, because the library then writes the old refresh token over a new one.
  client.once('tokens', (tokens) => {
    body = { ...tokens };
  });
  client.setCredentials({ refresh_token: request.refreshToken });
  try {
    await client.refreshAccessToken();
  } catch (thrown) {
    // The library also fails on a body that is no object.
    if (!(thrown instanceof gaxios.GaxiosError)) return { status: 200, body };
    if (thrown.response === undefined) throw thrown.cause;
    return { status: thrown.response.status, body: thrown.response.data };
  }
  return { status: 200, body };
}

function toGrant({ status, body }: TokenResponse, now: number): Grant {
  if (status === 200 && isObject(body) && isToken(body.access_token)) {
    return { kind: 'granted', token: parseGranted(body, body.access_token, now) };
  }
  if (status >= 300 && status < 400) {
    return { kind: 'unclear', why: `the token server answered with a redirect (${status})`, isWorthRetrying: false };
  }
  if ((status === 400 || status === 401) && isObject(body) && typeof body.error === 'string') {
    return { kind: 'refused', code: /^[a-z_]{1,40}$/.test(body.error) ? body.error : 'refused' };
  }
  if (status === 200) {
    const hasOne = isObject(body) && typeof body.access_token === 'string' && body.access_token !== '';
    const what = hasOne ? 'with a token that cannot be sent' : 'without a token';
    return { kind: 'unclear', why: `the token server answered ${what}`, isWorthRetrying: true };
  }
  return { kind: 'unclear', why: `the token server answered ${status}`, isWorthRetrying: isTransient(status) };
}

function parseGranted(body: Readonly<Record<string, unknown>>, accessToken: string, now: number): GrantedToken {
  const expiresAt = Number(body.expiry_date);
  const rest: Record<string, string> = {};
  for (const key of ['scope', 'token_type', 'id_token']) {
    const value = body[key];
    if (typeof value === 'string' && /^[\x20-\x7e]*$/.test(value)) rest[key] = value;
  }
  const { refresh_token: refreshToken } = body;
  return {
    accessToken,
    expiresAt: expiresAt > now ? Math.min(expiresAt, now + MAX_LIFETIME_MS) : now + DEFAULT_LIFETIME_MS,
    // An invalid refresh token must not replace the one that works.
    refreshToken: isToken(refreshToken) ? refreshToken : undefined,
    rest,
  };
}

export function isTransient(status: number): boolean {
  return status >= 500 || status === 429 || status === 408;
}
