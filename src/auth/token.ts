import { isObject } from '../core/json.ts';

/** A token must outlive a request, so one that ends within five minutes counts as ended. */
export const EXPIRY_MARGIN_MS = 300_000;

/** Google's access tokens live an hour; an expiry beyond this is a mistake, or not an expiry. */
const PLAUSIBLE_MS = 2 * 86_400_000;

/** Below this a number of milliseconds would be 1973: it was written in seconds. */
const SECONDS_BELOW = 100_000_000_000;

/** What a store of the official CLI, or our own cache, holds of a sign-in. */
export interface StoredToken {
  readonly accessToken?: string;
  readonly refreshToken?: string;
  /** Milliseconds since the epoch; absent if the store does not say, or says something that cannot be. */
  readonly expiresAt?: number;
  /** A stable name of the person, if the store has one. */
  readonly subject?: string;
}

/** What the token server gave. */
export interface GrantedToken {
  readonly accessToken: string;
  readonly expiresAt: number;
  /** Present if the server named one, be it the old one or a new one. */
  readonly refreshToken?: string;
  /** What else the official file keeps: `scope`, `token_type`, `id_token`. */
  readonly rest: Readonly<Record<string, string>>;
}

/** Whether an access token is good for the next five minutes. */
export function isFresh(token: StoredToken, now: number): token is StoredToken & { readonly accessToken: string } {
  return token.accessToken !== undefined && token.expiresAt !== undefined && token.expiresAt > now + EXPIRY_MARGIN_MS;
}

/** The content of `oauth_creds.json`; undefined if it is no object. What cannot be right counts as absent. */
export function parseOauthFile(value: unknown, now: number): StoredToken | undefined {
  if (!isObject(value)) return undefined;
  return storedToken({
    accessToken: token(value.access_token),
    refreshToken: token(value.refresh_token),
    expiresAt: expiryOf(value.expiry_date, now),
    subject: subjectOf(text(value.id_token)),
  });
}

/** The password of a Keychain entry, or of the encrypted file: `{"token":{"accessToken",…}}`; undefined if it is not. */
export function parsePassword(password: string, now: number): StoredToken | undefined {
  const value = parseJson(password);
  if (!isObject(value) || !isObject(value.token)) return undefined;
  const { accessToken, refreshToken, expiresAt } = value.token;
  return storedToken({
    accessToken: token(accessToken),
    refreshToken: token(refreshToken),
    expiresAt: expiryOf(expiresAt, now),
  });
}

/** A point in time from what people and programs write there; undefined if it cannot be the end of an access token. */
export function expiryOf(value: unknown, now: number): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number !== 'number' || Number.isNaN(number)) return undefined;
  if (number <= 0) return 0;
  const ms = number < SECONDS_BELOW ? number * 1000 : number;
  return ms > now + PLAUSIBLE_MS ? undefined : ms;
}

/** Whether this can be a token: what no header and no form can carry was never given by Google. */
export function isToken(value: unknown): value is string {
  return typeof value === 'string' && /^[\x21-\x7e]+$/.test(value);
}

/** JSON, or undefined if it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.startsWith('\uFEFF') ? text.slice(1) : text);
  } catch {
    return undefined;
  }
}

/** The `sub` or `email` of an id token. It came over TLS from Google; nothing is decided on it, so it is not verified. */
function subjectOf(idToken: string | undefined): string | undefined {
  const payload = idToken?.split('.')[1];
  if (payload === undefined) return undefined;
  const claims = parseJson(Buffer.from(payload, 'base64url').toString('utf8'));
  return isObject(claims) ? (text(claims.sub) ?? text(claims.email)) : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}

function token(value: unknown): string | undefined {
  const trimmed = text(value);
  return isToken(trimmed) ? trimmed : undefined;
}

function storedToken(fields: { readonly [Key in keyof StoredToken]: StoredToken[Key] | undefined }): StoredToken {
  const { accessToken, refreshToken, expiresAt, subject } = fields;
  return {
    ...(accessToken === undefined ? {} : { accessToken }),
    ...(refreshToken === undefined ? {} : { refreshToken }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(subject === undefined ? {} : { subject }),
  };
}
