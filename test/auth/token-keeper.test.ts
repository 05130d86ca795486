import { expect, test } from 'vitest';
import type { GrantedToken, StoredToken } from '../../src/auth/token.ts';
import type { Grant } from '../../src/auth/token-endpoint.ts';
import { type KeeperOptions, tokenKeeper } from '../../src/auth/token-keeper.ts';
import { systemClock } from '../../src/platform/runtime/clock.ts';
import { home } from './support/home.ts';

const HOUR_MS = 3_600_000;
const { signal } = new AbortController();

/** A keeper whose store and cache are in memory, and whose token server answers when it is told to. */
function kept(t: Parameters<typeof home>[0], stored: StoredToken, changes: Partial<KeeperOptions> = {}) {
  const grants: { readonly refreshToken: string; readonly signal: AbortSignal; answer(token: string): void }[] = [];
  const cached = new Map<string, StoredToken>();
  const options: KeeperOptions = {
    store: { source: 'x', read: async () => stored, peek: async () => stored, rotate: async () => false },
    first: stored,
    account: '0123456789abcdef',
    cache: {
      read: async (refreshToken) => cached.get(refreshToken),
      write: async (refreshToken, granted: GrantedToken) => void cached.set(refreshToken, granted),
    },
    home: home(t).gmn,
    grant: (refreshToken, caller) =>
      new Promise<Grant>((resolve, reject) => {
        caller.addEventListener('abort', () => reject(caller.reason));
        const answer = (accessToken: string): void =>
          resolve({
            kind: 'granted',
            token: { accessToken, expiresAt: Date.now() + 5 * HOUR_MS, refreshToken, rest: {} },
          });
        grants.push({ refreshToken, signal: caller, answer });
      }),
    clock: systemClock,
    trace: () => {},
    notify: () => {},
    ...changes,
  };
  return { keeper: tokenKeeper(options), grants };
}

const STALE: StoredToken = { accessToken: 'stale', refreshToken: 'r', expiresAt: 1 };

test('two callers make one grant, and the first one leaving does not take it from the second', async (t) => {
  const { keeper, grants } = kept(t, STALE);
  const first = new AbortController();
  const leaving = keeper.bearer(first.signal);
  const staying = keeper.bearer(signal);
  await expect.poll(() => grants.length).toBe(1);
  first.abort(new Error('enough'));
  await expect(leaving).rejects.toThrow('enough');
  grants[0]?.answer('granted');
  expect([await staying, grants.length]).toEqual(['granted', 1]);
});

test('a grant is aborted with its last caller', async (t) => {
  const { keeper, grants } = kept(t, STALE);
  const only = new AbortController();
  const leaving = keeper.bearer(only.signal);
  await expect.poll(() => grants.length).toBe(1);
  only.abort(new Error('enough'));
  await expect(leaving).rejects.toThrow('enough');
  expect(grants[0]?.signal.aborted).toBe(true);
});

test('a rejected token is never given again, whoever asked for it at the time', async (t) => {
  const { keeper, grants } = kept(t, { accessToken: 'bad', refreshToken: 'r', expiresAt: Date.now() + HOUR_MS });
  expect(await keeper.bearer(signal)).toBe('bad');
  const refreshed = keeper.refresh(signal);
  // Asked for while the refresh is under way: the token at hand looks fresh, and is not good.
  const asked = keeper.bearer(signal);
  await expect.poll(() => grants.length).toBe(1);
  grants[0]?.answer('good');
  await refreshed;
  expect([await asked, await keeper.bearer(signal), grants.length]).toEqual(['good', 'good', 1]);
});

test('a refresh does not join a search that may find the rejected token', async (t) => {
  let now = Date.now();
  const stored = (expiresAt: number): StoredToken => ({ accessToken: 'bad', refreshToken: 'r', expiresAt });
  const reads: ((token: StoredToken) => void)[] = [];
  const read = () => new Promise<StoredToken>((resolve) => reads.push(resolve));
  const { keeper, grants } = kept(t, stored(now + HOUR_MS), {
    clock: { ...systemClock, now: () => now },
    store: { source: 'x', read, peek: async () => undefined, rotate: async () => false },
  });
  expect(await keeper.bearer(signal)).toBe('bad');
  now += HOUR_MS;
  const asked = keeper.bearer(signal);
  const refreshed = keeper.refresh(signal);
  // Somebody wrote the same token with a later end: the search that began first finds it.
  await expect.poll(() => reads.length).toBe(2);
  for (const answer of reads.splice(0)) answer(stored(now + HOUR_MS));
  await expect.poll(() => reads.length).toBe(1);
  reads[0]?.(stored(now + HOUR_MS));
  await expect.poll(() => grants.length).toBe(1);
  grants[0]?.answer('good');
  await refreshed;
  expect([await asked, await keeper.bearer(signal), grants.length]).toEqual(['good', 'good', 1]);
});

test('a server that grants the rejected token once more is believed, not asked forever', async (t) => {
  const { keeper, grants } = kept(t, { accessToken: 'bad', refreshToken: 'r', expiresAt: Date.now() + HOUR_MS });
  await keeper.bearer(signal);
  const refreshed = keeper.refresh(signal);
  await expect.poll(() => grants.length).toBe(1);
  grants[0]?.answer('bad');
  await refreshed;
  expect(grants).toHaveLength(1);
});

test('two requests with the same rejected token share one refresh', async (t) => {
  const { keeper, grants } = kept(t, { accessToken: 'bad', refreshToken: 'r', expiresAt: Date.now() + HOUR_MS });
  await keeper.bearer(signal);
  const refreshed = keeper.refresh(signal, 'bad');
  await expect.poll(() => grants.length).toBe(1);
  grants[0]?.answer('good');
  await refreshed;
  await keeper.refresh(signal, 'bad');
  expect([await keeper.bearer(signal), grants.length]).toEqual(['good', 1]);
});

test('the stored token is not used again when the refreshed one was rejected, too', async (t) => {
  const { keeper, grants } = kept(t, { accessToken: 'bad', refreshToken: 'r', expiresAt: Date.now() + HOUR_MS });
  await keeper.bearer(signal);
  for (const [refused, granted] of [
    ['bad', 'worse'],
    ['worse', 'good'],
  ] as const) {
    const refreshed = keeper.refresh(signal, refused);
    const count = grants.length + 1;
    await expect.poll(() => grants.length).toBe(count);
    grants.at(-1)?.answer(granted);
    await refreshed;
  }
  expect(await keeper.bearer(signal)).toBe('good');
});

/** A keeper whose first grant is unclear, and what the store holds when it is to try again. */
function interrupted(t: Parameters<typeof home>[0], later: StoredToken) {
  let stored = STALE;
  const used: string[] = [];
  const { keeper } = kept(t, stored, {
    store: { source: 'x', read: async () => stored, peek: async () => stored, rotate: async () => false },
    clock: {
      ...systemClock,
      sleep: async () => {
        stored = later;
      },
    },
    grant: async (refreshToken) => {
      used.push(refreshToken);
      if (used.length === 1) return { kind: 'unclear', why: 'no answer', isWorthRetrying: true };
      return {
        kind: 'granted',
        token: { accessToken: 'granted', expiresAt: Date.now() + HOUR_MS, refreshToken, rest: {} },
      };
    },
  });
  return { keeper, used };
}

test('a refresh that was not answered finds what another program got meanwhile, and asks no more', async (t) => {
  const { keeper, used } = interrupted(t, {
    accessToken: 'theirs',
    refreshToken: 'r',
    expiresAt: Date.now() + HOUR_MS,
  });
  expect([await keeper.bearer(signal), used]).toEqual(['theirs', ['r']]);
});

test('a refresh that was not answered tries again with the refresh token that is there by then', async (t) => {
  const { keeper, used } = interrupted(t, { ...STALE, refreshToken: 'next' });
  expect([await keeper.bearer(signal), used]).toEqual(['granted', ['r', 'next']]);
});
