import { AppError } from '../core/error.ts';
import type { Clock } from '../core/io.ts';
import { isObject } from '../core/json.ts';
import { type FileText, readFileState, replaceVersion } from '../platform/files/write.ts';
import { type GrantedToken, parseJson, parseOauthFile, type StoredToken } from './token.ts';
import { type TokenStore, waitForWhole } from './token-store.ts';

const MAX_RACES = 5;

export interface OauthFileOptions {
  readonly clock: Clock;
  readonly uid: number | undefined;
}

/** The official CLI's plain file. `name` is how people know it; it is written only if it belongs to `uid`. */
export function oauthFile(path: string, name: string, { clock, uid }: OauthFileOptions): TokenStore {
  return {
    source: name,
    async read(signal) {
      const found = await readOauthDocument(path, { name, clock, signal });
      return found === undefined ? undefined : parseOauthFile(found, clock.now());
    },
    async glance() {
      const file = await readFileState(path);
      return file.kind === 'text' ? parseOauthFile(parseJson(file.text), clock.now()) : undefined;
    },
    async rotate(used, granted) {
      for (let attempt = 0; attempt < MAX_RACES; attempt += 1) {
        const file = await readFileState(path, uid);
        const text = file.kind === 'text' && file.isOurs ? withTokens(file, used, granted) : undefined;
        if (file.kind !== 'text' || text === undefined) return false;
        if ((await replaceVersion(path, text, { expected: file.version })) === 'written') return true;
      }
      return false;
    },
  };
}

/**
 * The object in `oauth_creds.json`; undefined if there is no such file. Throws AppError `auth` if it cannot be read, or
 * is still empty or damaged after a second.
 */
export function readOauthDocument(
  path: string,
  options: { readonly name: string; readonly clock: Clock; readonly signal: AbortSignal },
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const { name, clock, signal } = options;
  return waitForWhole(
    async () => {
      const file = await readFileState(path);
      if (file.kind === 'absent') return undefined;
      if (file.kind === 'unreadable') throw unreadable(name, file.why);
      const value = parseJson(file.text);
      return isObject(value) ? value : 'broken';
    },
    { path: name, clock, signal },
  );
}

/** The file's text with the new tokens in it; undefined if it no longer holds the refresh token that was used. */
function withTokens(file: FileText, used: string, granted: GrantedToken): string | undefined {
  const value = parseJson(file.text);
  if (!isObject(value) || currentRefreshToken(value) !== used) return undefined;
  const changed = {
    ...value,
    ...granted.rest,
    access_token: granted.accessToken,
    refresh_token: granted.refreshToken ?? used,
    expiry_date: granted.expiresAt,
  };
  return `${JSON.stringify(changed, null, 2)}${file.text.endsWith('\n') ? '\n' : ''}`;
}

function currentRefreshToken(value: Readonly<Record<string, unknown>>): string | undefined {
  const token: StoredToken | undefined = parseOauthFile(value, 0);
  return token?.refreshToken;
}

function unreadable(name: string, why: string): AppError {
  return new AppError('auth', `authentication failed: cannot read ${name}: ${why}`, {
    hint: 'Mend its permissions, or sign in again using: gemini',
  });
}
