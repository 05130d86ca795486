import { createHash } from 'node:crypto';
import { chownSync, lstatSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bearerDigest, bundleProgram, CANARIES, filesIn, type Home, home, oauthDocument } from './support/home.ts';
import { runSignIn } from './support/run-sign-in.ts';
import { type Answer, granting, rotating } from './support/token-server.ts';

let program: Awaited<ReturnType<typeof bundleProgram>>;
beforeAll(async () => {
  program = await bundleProgram();
}, 60_000);
afterAll(() => program.remove());

const runOnce = (t: Parameters<typeof home>[0], answer: Answer, place: Home) =>
  runSignIn(t, program.path, { answer, place });

function cacheName(refreshToken: string): string {
  return `${createHash('sha256').update(refreshToken).digest('hex').slice(0, 16)}.json`;
}

test.for([
  ['empty', ''],
  ['half', '{"version":1,"access_token":"ya2'],
  ['of wrong types', '{"version":1,"access_token":7,"refresh_token":[],"expiry_date":"x"}'],
])('a cache that is %s is set aside and made anew', async ([, broken = ''], t) => {
  const name = cacheName(CANARIES.refresh);
  const place = home(t, { [`.gmn/tokens/${name}`]: broken });
  const { ended } = await runOnce(t, granting(), place);
  expect(ended.result.bearer).toBe(bearerDigest('ya29.granted-1'));
  const names = Object.keys(filesIn(place.gmn)).filter((file) => file.startsWith('tokens/'));
  expect(names.sort()).toEqual([`tokens/${name}`, expect.stringContaining(`tokens/${name}.corrupt-`)]);
});

test('a replaced refresh token is kept by gmn when the official file belongs to someone else', async (t) => {
  // Only root can give files away.
  if (process.getuid?.() !== 0) return t.skip();
  const place = home(t);
  chownSync(place.credentials, 12_345, 12_345);
  const answer = rotating();
  const first = await runOnce(t, answer, place);
  expect([first.ended.exitCode, first.after]).toEqual([0, first.before]);
  const cache = join(place.gmn, 'tokens', cacheName(CANARIES.refresh));
  writeFileSync(cache, readFileSync(cache, 'utf8').replace(/"expiry_date":\d+/, '"expiry_date":1'));
  const second = await runOnce(t, answer, place);
  expect([second.ended.exitCode, second.after]).toEqual([0, first.before]);
  expect(second.server.forms.map((form) => form.refresh_token)).toEqual([`${CANARIES.refresh}+`]);
});

test('a cache that someone else planted is not believed', async (t) => {
  if (process.getuid?.() !== 0) return t.skip();
  const planted = { version: 1, access_token: 'planted', refresh_token: 'x', expiry_date: Date.now() + 3_000_000 };
  const name = cacheName(CANARIES.refresh);
  const place = home(t, { [`.gmn/tokens/${name}`]: JSON.stringify(planted) });
  chownSync(join(place.gmn, 'tokens', name), 12_345, 12_345);
  expect((await runOnce(t, granting(), place)).ended.result.bearer).toBe(bearerDigest('ya29.granted-1'));
});

test('an official file behind a link is replaced where it is, and the link stays', async (t) => {
  const place = home(t, { 'dotfiles/creds.json': oauthDocument() });
  rmSync(place.credentials);
  symlinkSync('../dotfiles/creds.json', place.credentials);
  const { ended } = await runOnce(t, rotating(), place);
  expect(ended.exitCode).toBe(0);
  expect(lstatSync(place.credentials).isSymbolicLink()).toBe(true);
  const real = JSON.parse(readFileSync(join(place.root, 'dotfiles', 'creds.json'), 'utf8'));
  expect(real.refresh_token).toBe(`${CANARIES.refresh}+`);
});
