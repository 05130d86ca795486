import { AppError } from '../core/error.ts';
import type { Clock } from '../core/io.ts';
import { isObject, tryParseJson } from '../core/json.ts';
import { DAY_MS } from '../core/text/format.ts';

/** A token must outlive a request, so one that expires within five minutes counts as expired. */
const EXPIRY_MARGIN_MS = 300_000;

/** Google's access tokens last an hour; a later expiry is a mistake. */
const MAX_LIFETIME_MS = 2 * DAY_MS;

/** Smaller numbers would be before 1973 in milliseconds: they are seconds. */
const SECONDS_BELOW = 100_000_000_000;

export interface StoredToken {
  readonly accessToken?: string;
  readonly refreshToken?: string;
  readonly expiresAt?: number;
  readonly subject?: string;
}

export interface GrantedToken {
  readonly accessToken: string;
  readonly expiresAt: number;
  readonly refreshToken?: string;
  readonly rest: Readonly<Record<string, string>>;
}

export function isFresh(token: StoredToken, now: number): token is StoredToken & { readonly accessToken: string } {
  return token.accessToken !== undefined && token.expiresAt !== undefined && token.expiresAt > now + EXPIRY_MARGIN_MS;
}

export function tryParseOauthFile(value: unknown, now: number): StoredToken | undefined {
  if (!isObject(value)) return undefined;
  return {
    accessToken: toToken(value.access_token),
    refreshToken: toToken(value.refresh_token),
    expiresAt: toExpiry(value.expiry_date, now),
    subject: findSubject(toTrimmedText(value.id_token)),
  };
}

/** `{"token":{"accessToken",…}}`, as the Keychain and the encrypted file have it. */
export function tryParsePassword(password: string, now: number): StoredToken | undefined {
  const value = tryParseJson(password);
  if (!isObject(value) || !isObject(value.token)) return undefined;
  const { accessToken, refreshToken, expiresAt } = value.token;
  return {
    accessToken: toToken(accessToken),
    refreshToken: toToken(refreshToken),
    expiresAt: toExpiry(expiresAt, now),
  };
}

/** Accepts seconds, milliseconds and numeric strings; undefined if it cannot be the expiry of an access token. */
export function toExpiry(value: unknown, now: number): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number !== 'number' || Number.isNaN(number)) return undefined;
  if (number <= 0) return 0;
  const ms = number < SECONDS_BELOW ? number * 1000 : number;
  return ms > now + MAX_LIFETIME_MS ? undefined : ms;
}

export function isToken(value: unknown): value is string {
  return typeof value === 'string' && /^[\x21-\x7e]+$/.test(value);
}

/** The `sub` or `email` of an id token. Not verified, since nothing is decided on it. */
function findSubject(idToken: string | undefined): string | undefined {
  const payload = idToken?.split('.')[1];
  if (payload === undefined) return undefined;
  const claims = tryParseJson(Buffer.from(payload, 'base64url').toString('utf8'));
  return isObject(claims) ? (toTrimmedText(claims.sub) ?? toTrimmedText(claims.email)) : undefined;
}

function toTrimmedText(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}

function toToken(value: unknown): string | undefined {
  const trimmed = toTrimmedText(value);
  return isToken(trimmed) ? trimmed : undefined;
}

/** gmn writes to it only when the refresh token was replaced. */
export interface TokenStore {
  readonly source: string;
  /** Waits up to a second for a file that is being rewritten. Throws AppError `auth` if it stays unreadable. */
  read(signal: AbortSignal): Promise<StoredToken | undefined>;
  /** One cheap read; undefined if the content is not known right now. Never throws. */
  peek(): Promise<StoredToken | undefined>;
  /** Only if the store still has the refresh token `used`, and is ours; else false. Throws AppError `config`. */
  rotate(used: string, granted: GrantedToken): Promise<boolean>;
}

const WAIT_MS = 1000;
const PAUSE_MS = 10;
/** On a busy machine a second may pass between two reads. */
const MIN_READS = 50;

/** The official CLI truncates its file before writing, so a broken one is most likely complete in a moment. */
export async function waitUntilComplete<T>(
  read: () => Promise<T | 'broken'>,
  options: { readonly path: string; readonly clock: Clock; readonly signal: AbortSignal },
): Promise<T> {
  const { path, clock, signal } = options;
  const giveUpAt = clock.now() + WAIT_MS;
  for (let reads = 1; ; reads += 1) {
    const seen = await read();
    if (seen !== 'broken') return seen;
    if (reads >= MIN_READS && clock.now() >= giveUpAt) throw damagedFileError(path);
    await clock.sleep(PAUSE_MS, signal);
  }
}

function damagedFileError(path: string): AppError {
  return new AppError('auth', `${path} is empty or damaged`, {
    hint: 'gmn left it as it is. If this keeps happening, sign in again using: gemini',
  });
}

export function unreadableSignInError(name: string, why: string): AppError {
  return new AppError('auth', `cannot read ${name}: ${why}`, {
    hint: 'Fix its permissions, or sign in again using: gemini',
  });
}
