import { createHash } from 'node:crypto';
import { chownSync, lstatSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { oauthFile } from '../../src/auth/sign-in.ts';
import { tokenCache } from '../../src/auth/token-cache.ts';
import { systemClock } from '../../src/platform/runtime/clock.ts';
import { posixTest } from '../support/posix.ts';
import { bearerDigest, CANARIES, filesIn, home, oauthDocument } from './support/home.ts';
import { runSignIn } from './support/run-sign-in.ts';
import { granting, rotating } from './support/token-server.ts';

function cacheName(refreshToken: string): string {
  return `${createHash('sha256').update(refreshToken).digest('hex').slice(0, 16)}.json`;
}

test.for([
  ['empty', ''],
  ['half', '{"version":1,"access_token":"ya2'],
  ['of wrong types', '{"version":1,"access_token":7,"refresh_token":[],"expiry_date":"x"}'],
])('a cache that is %s is quarantined and created again', async ([, broken = ''], t) => {
  const name = cacheName(CANARIES.refresh);
  const place = home(t, { [`.gmn/tokens/${name}`]: broken });
  const { ended } = await runSignIn(t, granting(), { place });
  expect(ended.result.bearer).toBe(bearerDigest('ya29.granted-1'));
  const names = Object.keys(filesIn(place.gmn)).filter((file) => file.startsWith('tokens/'));
  expect(names.sort()).toEqual([`tokens/${name}`, expect.stringContaining(`tokens/${name}.corrupt-`)]);
});

posixTest('an official file of someone else is read, and never written', async (t) => {
  const place = home(t);
  const store = oauthFile(place.credentials, 'x', { clock: systemClock, uid: statSync(place.credentials).uid + 1 });
  expect(await store.peek()).toMatchObject({ refreshToken: CANARIES.refresh });
  const granted = { accessToken: 'ya29.new', expiresAt: Date.now(), refreshToken: 'new', rest: {} };
  expect(await store.rotate(CANARIES.refresh, granted)).toBe(false);
  expect(readFileSync(place.credentials, 'utf8')).toBe(oauthDocument());
});

// Only root can give files away; the parts of this are tested above and below for everybody.
const rootTest = test.runIf(process.getuid?.() === 0);

rootTest('a replaced refresh token is kept by gmn when the official file belongs to someone else', async (t) => {
  const place = home(t);
  chownSync(place.credentials, 12_345, 12_345);
  const answer = rotating();
  const first = await runSignIn(t, answer, { place });
  expect([first.ended.exitCode, first.after]).toEqual([0, first.before]);
  const cache = join(place.gmn, 'tokens', cacheName(CANARIES.refresh));
  writeFileSync(cache, readFileSync(cache, 'utf8').replace(/"expiry_date":\d+/, '"expiry_date":1'));
  const second = await runSignIn(t, answer, { place });
  expect([second.ended.exitCode, second.after]).toEqual([0, first.before]);
  expect(second.server.forms.map((form) => form.refresh_token)).toEqual([`${CANARIES.refresh}+`]);
});

posixTest('a cache file of another user is not used', async (t) => {
  const planted = { version: 1, access_token: 'planted', refresh_token: 'x', expiry_date: Date.now() + 3_000_000 };
  const name = cacheName(CANARIES.refresh);
  const place = home(t, { [`.gmn/tokens/${name}`]: JSON.stringify(planted) });
  const { uid } = statSync(join(place.gmn, 'tokens', name));
  const read = (owner: number) => tokenCache(place.gmn, { clock: systemClock, uid: owner }).read(CANARIES.refresh);
  expect([(await read(uid))?.accessToken, await read(uid + 1)]).toEqual(['planted', undefined]);
});

test('an official file behind a link is replaced where it is, and the link stays', async (t) => {
  const place = home(t, { 'dotfiles/creds.json': oauthDocument() });
  rmSync(place.credentials);
  symlinkSync('../dotfiles/creds.json', place.credentials);
  const { ended } = await runSignIn(t, rotating(), { place });
  expect(ended.exitCode).toBe(0);
  expect(lstatSync(place.credentials).isSymbolicLink()).toBe(true);
  const real = JSON.parse(readFileSync(join(place.root, 'dotfiles', 'creds.json'), 'utf8'));
  expect(real.refresh_token).toBe(`${CANARIES.refresh}+`);
});
