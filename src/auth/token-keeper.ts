import { join } from 'node:path';
import { shareWork } from '../core/async.ts';
import { AppError } from '../core/error.ts';
import type { Clock, Trace } from '../core/io.ts';
import { acquireLock } from '../platform/files/lock.ts';
import { type GrantedToken, isFresh, type StoredToken, type TokenStore } from './token.ts';
import type { TokenCache } from './token-cache.ts';
import type { Grant } from './token-endpoint.ts';

/** Longer than the lock can be held: three attempts of ten seconds and the pauses between them. */
const LOCK_WAIT_MS = 35_000;
const PAUSES_MS = [250, 1000];
/** If the token server is unreachable, a token is still used until this close to its expiry. */
const LAST_RESORT_MS = 15_000;

export interface KeeperOptions {
  readonly store: TokenStore;
  readonly first: StoredToken;
  readonly cache: TokenCache;
  readonly account: string;
  readonly home: string;
  readonly grant: (refreshToken: string, signal: AbortSignal) => Promise<Grant>;
  readonly clock: Clock;
  readonly trace: Trace;
  readonly notify: (message: string) => void;
}

/** Processes that find it expired make one request in all. The official store gets only a new refresh token. */
export function tokenKeeper(options: KeeperOptions) {
  let current: UsableToken | undefined;
  const rejected = new Set<string>();
  let rejections = 0;
  let first: StoredToken | undefined = options.first;
  // One search at a time within the process. A search begun before a rejection is not shared with later callers.
  const search = shareWork(async (_: number, signal) => {
    const without = new Set(rejected);
    const stored = first ?? (await options.store.read(signal)) ?? failSignedOut(options.store);
    first = undefined;
    return obtainToken({ ...options, rejected: without, signal }, stored);
  });
  const fetchToken = async (signal: AbortSignal): Promise<string> => {
    for (;;) {
      const before = rejections;
      const found = await search(before, signal);
      if (before !== rejections && rejected.has(found.accessToken)) continue;
      current = found;
      // If the token server grants the same token again, it is used again.
      rejected.delete(found.accessToken);
      return found.accessToken;
    }
  };
  const bearer = async (signal: AbortSignal): Promise<string> =>
    current !== undefined && !rejected.has(current.accessToken) && isFresh(current, options.clock.now())
      ? current.accessToken
      : fetchToken(signal);
  return {
    /** An access token valid for at least five minutes. Throws AppError `auth`. */
    bearer,
    /** After the API rejected `refused`, by default the last token. Throws AppError `auth` if there is no other. */
    refresh: async (signal: AbortSignal, refused = current?.accessToken): Promise<void> => {
      if (refused !== undefined && !rejected.has(refused)) {
        rejected.add(refused);
        rejections += 1;
      }
      await bearer(signal);
    },
  };
}

type UsableToken = StoredToken & { readonly accessToken: string };

interface Search extends KeeperOptions {
  readonly rejected: ReadonlySet<string>;
  readonly signal: AbortSignal;
}

async function obtainToken(search: Search, stored: StoredToken): Promise<UsableToken> {
  const { store, clock, home, signal } = search;
  let found = await findFreshest(search, stored);
  if (found !== undefined) return found;
  if (stored.refreshToken === undefined) return requireUnexpired(search, stored);
  const lock = await acquireLock(join(home, 'locks', 'refresh'), {
    clock,
    signal,
    maxWaitMs: LOCK_WAIT_MS,
    async isDone() {
      found = await findFreshest(search, (await store.peek()) ?? stored);
      return found !== undefined;
    },
  });
  if (lock === undefined) return found ?? failSignedOut(store);
  try {
    return await refresh(search);
  } finally {
    await lock.release();
  }
}

/** Each attempt reads store and cache again: another program may have used up a one-time refresh token. */
async function refresh(search: Search): Promise<UsableToken> {
  const { store, cache, clock, trace, signal } = search;
  let failures = 0;
  let refused: { readonly code: string; readonly used: string; readonly accessToken: string | undefined } | undefined;
  for (;;) {
    const stored = (await store.read(signal)) ?? failSignedOut(store);
    const found = await findFreshest(search, stored);
    if (found !== undefined) return found;
    const { refreshToken, accessToken } = stored;
    if (refreshToken === undefined) return requireUnexpired(search, stored);
    const used = (await cache.read(refreshToken))?.refreshToken ?? refreshToken;
    if (refused?.used === used && refused.accessToken === accessToken) throw refreshRefusedError(refused.code);
    trace(`auth: refreshing the token of ${store.source}`);
    const grant = await search.grant(used, signal);
    if (grant.kind === 'granted') {
      await saveGrant(search, { stored: refreshToken, next: grant.token.refreshToken ?? used }, grant.token);
      return grant.token;
    }
    if (grant.kind === 'refused') {
      if (refused !== undefined) throw refreshRefusedError(grant.code);
      refused = { code: grant.code, used, accessToken };
      continue;
    }
    const pauseMs = PAUSES_MS[failures];
    if (!grant.isWorthRetrying || pauseMs === undefined)
      return findLastResort(search, stored) ?? throwError(refreshFailedError(grant.why));
    failures += 1;
    await clock.sleep(pauseMs, signal);
  }
}
async function findFreshest({ cache, clock, rejected }: Search, stored: StoredToken): Promise<UsableToken | undefined> {
  const cached = stored.refreshToken === undefined ? undefined : await cache.read(stored.refreshToken);
  let best: UsableToken | undefined;
  for (const token of [stored, cached]) {
    if (token === undefined || !isFresh(token, clock.now()) || rejected.has(token.accessToken)) continue;
    if ((token.expiresAt ?? 0) > (best?.expiresAt ?? 0)) best = token;
  }
  return best;
}

/** Writes the cache first, so that a later failure does not lose the new refresh token. */
async function saveGrant(
  { store, cache, account, notify, trace }: Search,
  { stored, next }: { readonly stored: string; readonly next: string },
  token: GrantedToken,
): Promise<void> {
  const granted = { ...token, refreshToken: next };
  const isCached = await tryToSave(notify, async () => {
    await cache.write(stored, granted, account);
    if (next !== stored) await cache.write(next, granted, account);
  });
  if (next === stored) return;
  // Also if the cache failed: the official store is then the only place left.
  await tryToSave(notify, async () => {
    const isReplaced = await store.rotate(stored, granted);
    if (isReplaced) return;
    const where = isCached ? "the new refresh token is in gmn's own store" : 'the new refresh token is kept nowhere';
    trace(`auth: ${store.source} was left as it is; ${where}`);
  });
}

async function tryToSave(notify: KeeperOptions['notify'], save: () => Promise<void>): Promise<boolean> {
  try {
    await save();
    return true;
  } catch (thrown) {
    if (!(thrown instanceof AppError)) throw thrown;
    notify(`The refreshed token could not be saved (${thrown.message}); this run continues with it.`);
    return false;
  }
}

/** A token without expiry and refresh token can only be tried. */
function requireUnexpired({ rejected }: Search, stored: StoredToken): UsableToken {
  const { accessToken, expiresAt } = stored;
  if (accessToken === undefined || expiresAt !== undefined || rejected.has(accessToken)) throw expiredError();
  return { ...stored, accessToken };
}

function findLastResort({ clock, rejected }: Search, stored: StoredToken): UsableToken | undefined {
  const { accessToken, expiresAt } = stored;
  if (accessToken === undefined || expiresAt === undefined || rejected.has(accessToken)) return undefined;
  return expiresAt > clock.now() + LAST_RESORT_MS ? { ...stored, accessToken } : undefined;
}

function throwError(error: AppError): never {
  throw error;
}

function failSignedOut(store: TokenStore): never {
  throw new AppError('auth', `authentication failed: there is no sign-in in ${store.source} any more`, {
    hint: 'Please re-authenticate using: gemini',
  });
}

function expiredError(): AppError {
  return new AppError('auth', 'authentication failed: token expired', {
    hint: 'Please re-authenticate using: gemini',
  });
}

function refreshRefusedError(code: string): AppError {
  if (code === 'invalid_grant') return expiredError();
  return new AppError('auth', `authentication failed: the token server refused the OAuth client (${code})`, {
    hint: 'Update the official CLI (gemini), or set GMN_OAUTH_CLIENT_ID and GMN_OAUTH_CLIENT_SECRET',
  });
}

function refreshFailedError(why: string): AppError {
  return new AppError('auth', `authentication failed: the token could not be refreshed: ${why}`, {
    hint: 'Your sign-in was not touched. Check the network and try again in a moment.',
  });
}
