import { AppError } from '../core/error.ts';
import type { Clock } from '../core/io.ts';
import type { GrantedToken, StoredToken } from './token.ts';

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
