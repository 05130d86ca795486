import type { Clock } from '../core/io.ts';
import { isObject } from '../core/json.ts';
import { type SecretPlace, SIGN_IN } from './official-secrets.ts';
import { type GrantedToken, parseJson, parsePassword } from './token.ts';
import type { TokenStore } from './token-store.ts';

/** The official sign-in where it is kept as a password: in the Keychain or in the encrypted file. */
export function passwordStore(place: SecretPlace, clock: Clock): TokenStore {
  return {
    source: place.name,
    async read(signal) {
      const password = await place.read(SIGN_IN, signal);
      const token = password === undefined ? undefined : parsePassword(password, clock.now());
      return token?.accessToken === undefined && token?.refreshToken === undefined ? undefined : token;
    },
    // A look costs a process or a key derivation, and what gmn was granted is in its own cache anyway.
    glance: async () => undefined,
    async rotate(used, granted) {
      const password = await place.read(SIGN_IN, new AbortController().signal);
      const changed = password === undefined ? undefined : withTokens(password, used, granted);
      return password !== undefined && changed !== undefined && place.replace(SIGN_IN, password, changed);
    },
  };
}

function withTokens(password: string, used: string, granted: GrantedToken): string | undefined {
  const value = parseJson(password);
  if (!isObject(value) || !isObject(value.token) || value.token.refreshToken !== used) return undefined;
  const { accessToken, refreshToken = used, expiresAt } = granted;
  return JSON.stringify({ ...value, token: { ...value.token, accessToken, refreshToken, expiresAt } });
}
