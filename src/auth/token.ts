import { AppError } from '../core/error.ts';
import type { Clock } from '../core/io.ts';
import { isObject } from '../core/json.ts';

/** A token must outlive a request, so one that ends within five minutes counts as ended. */
const EXPIRY_MARGIN_MS = 300_000;

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

/** Where the official CLI keeps a sign-in. gmn reads it, and writes only when the refresh token itself was changed. */
export interface TokenStore {
  /** For people: `~/.gemini/oauth_creds.json`. */
  readonly source: string;
  /**
   * What it holds now; undefined if it holds no sign-in. A file that is just being rewritten is waited for, up to a
   * second. Throws AppError `auth` if it stays unreadable.
   */
  read(signal: AbortSignal): Promise<StoredToken | undefined>;
  /** What it holds, at one cheap look; undefined if that cannot be told right now. Never throws. */
  glance(): Promise<StoredToken | undefined>;
  /**
   * Puts the granted tokens in the place of `used`, keeping all else. False, and nothing is written, if another
   * sign-in has taken its place or the store is not ours to write. Throws AppError `config` if writing fails.
   */
  rotate(used: string, granted: GrantedToken): Promise<boolean>;
}

const PATIENCE_MS = 1000;
const PAUSE_MS = 10;
/** On a machine that is out of breath a second may pass between two looks. */
const LEAST_LOOKS = 50;

/**
 * Calls `look` until it gives something else than `broken`. The official CLI empties its file before it writes, so
 * what is broken now is most likely whole in a moment. Throws AppError `auth`, saying so, after a second.
 */
export async function waitForWhole<T>(
  look: () => Promise<T | 'broken'>,
  options: { readonly path: string; readonly clock: Clock; readonly signal: AbortSignal },
): Promise<T> {
  const { path, clock, signal } = options;
  const giveUpAt = clock.now() + PATIENCE_MS;
  for (let looks = 1; ; looks += 1) {
    const seen = await look();
    if (seen !== 'broken') return seen;
    if (looks >= LEAST_LOOKS && clock.now() >= giveUpAt) throw broken(path);
    await clock.sleep(PAUSE_MS, signal);
  }
}

function broken(path: string): AppError {
  return new AppError('auth', `authentication failed: ${path} is empty or damaged`, {
    hint: 'gmn left it as it is. If this stays so, sign in again using: gemini',
  });
}
