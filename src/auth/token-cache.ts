import { join } from 'node:path';
import type { Clock } from '../core/io.ts';
import { isObject, tryParseJson } from '../core/json.ts';
import { readFileState } from '../platform/files/read.ts';
import { makePrivateDirectory, quarantine, writeAtomic } from '../platform/files/write.ts';
import { sha256 } from '../platform/runtime/native.ts';
import { type GrantedToken, isToken, type StoredToken, toExpiry } from './token.ts';

export interface TokenCache {
  read(refreshToken: string): Promise<CachedToken | undefined>;
  /** Quarantines a damaged file first. Throws AppError `config` if it cannot be written. */
  write(refreshToken: string, granted: GrantedToken, account: string): Promise<void>;
}

interface CachedToken extends StoredToken {
  /** `Credential.account`: stays the same when the refresh token is replaced. */
  readonly account?: string;
}

interface TokenCacheOptions {
  readonly clock: Clock;
  readonly uid: number | undefined;
}

export function tokenCacheDirectory(home: string): string {
  return join(home, 'tokens');
}

/** `home` is gmn's directory. Files of other users than `uid` are ignored; if it is undefined, none are. */
export function tokenCache(home: string, { clock, uid }: TokenCacheOptions): TokenCache {
  const directory = tokenCacheDirectory(home);
  const cachePathFor = (refreshToken: string): string => join(directory, `${sha256(refreshToken).slice(0, 16)}.json`);
  return {
    async read(refreshToken) {
      const file = await readFileState(cachePathFor(refreshToken), uid);
      // A file of another user could make us act under another account.
      if (file.kind !== 'text' || !file.isOurs) return undefined;
      return tryParseCached(tryParseJson(file.text), clock.now());
    },
    async write(refreshToken, granted, account) {
      const path = cachePathFor(refreshToken);
      await makePrivateDirectory(directory);
      const before = await readFileState(path, uid);
      const isBroken =
        before.kind === 'unreadable' ||
        (before.kind === 'text' && (!before.isOurs || tryParseCached(tryParseJson(before.text), 0) === undefined));
      if (isBroken) await quarantine(path, clock.now());
      const record = {
        version: 1,
        access_token: granted.accessToken,
        expiry_date: granted.expiresAt,
        refresh_token: granted.refreshToken ?? refreshToken,
        account,
      };
      await writeAtomic(path, `${JSON.stringify(record)}\n`, { mode: 0o600 });
    },
  };
}

function tryParseCached(value: unknown, now: number): CachedToken | undefined {
  if (!isObject(value) || value.version !== 1) return undefined;
  const { access_token: accessToken, refresh_token: refreshToken } = value;
  const expiresAt = toExpiry(value.expiry_date, now);
  if (!isToken(accessToken) || !isToken(refreshToken)) return undefined;
  const { account } = value;
  const isKnown = typeof account === 'string' && /^[0-9a-f]{16}$/.test(account);
  return { accessToken, refreshToken, account: isKnown ? account : undefined, expiresAt };
}
