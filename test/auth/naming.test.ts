import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { chooseCredential } from '../../src/auth/credential.ts';
import { keyStore } from '../../src/auth/key-store.ts';
import { findClientPair } from '../../src/auth/official-client.ts';
import { surveyCredentials } from '../../src/auth/survey.ts';
import { systemClock } from '../../src/platform/runtime/clock.ts';
import { posixTest } from '../support/posix.ts';
import { home, oauthDocument } from './support/home.ts';
import { choiceInput, PLAIN_MACHINE } from './support/input.ts';

const KEY_FILE = '{"version":1,"place":"file","key":"AIza-test-key-0123456789"}';

test('a directory that was moved is named by where it is', async (t) => {
  const place = home(t, { '.gmn/key.json': KEY_FILE });
  const moved = { GEMINI_CLI_HOME: place.root, GMN_HOME: place.gmn };
  const source = async (env: object, flag: string) =>
    (await chooseCredential(choiceInput(place, { ...env }, { flag }))).credential.source;
  expect([
    await source({}, 'oauth-personal'),
    await source(moved, 'oauth-personal'),
    await source({}, 'gemini-api-key'),
    await source(moved, 'gemini-api-key'),
  ]).toEqual(['~/.gemini/oauth_creds.json', place.credentials, '~/.gmn/key.json', join(place.gmn, 'key.json')]);
  const { rows } = await surveyCredentials(choiceInput(place, moved));
  expect(rows.map(({ name, details }) => [name, details[0]])).toContainEqual(['oauth-personal', place.credentials]);
});

test('for a type from an .env file of the user, the error names GMN_AUTH', async (t) => {
  const settings = { env: { GMN_AUTH: 'nonsense' }, authType: 'nonsense' };
  await expect(chooseCredential(choiceInput(home(t), {}, { settings }))).rejects.toMatchObject({
    fault: 'auth',
    message: 'GMN_AUTH names an unknown type: nonsense',
  });
});

test.for(['', '  '])('an empty --auth (%j) is a mistake in the command line', async (flag, t) => {
  const input = choiceInput(home(t), { GEMINI_API_KEY: 'AIza-test-key-0123456789' }, { flag });
  await expect(chooseCredential(input)).rejects.toMatchObject({ fault: 'usage', message: '--auth needs a type' });
});

test.for([
  ['GMN_OAUTH_CLIENT_ID', 'GMN_OAUTH_CLIENT_SECRET'],
  ['GMN_OAUTH_CLIENT_SECRET', 'GMN_OAUTH_CLIENT_ID'],
] as const)('with %s alone the error says that %s is missing', async ([given, missing], t) => {
  const { gemini, gmn } = home(t);
  await expect(findClientPair({ env: { [given]: 'canary' } }, { gemini, gmn }, systemClock)).rejects.toMatchObject({
    fault: 'config',
    message: `${missing} is not set, but the other half of the OAuth client is`,
  });
});

posixTest("another user's key file is neither used, replaced nor deleted, and an error says what to do", async (t) => {
  const place = home(t, { '.gmn/key.json': KEY_FILE });
  const store = keyStore(place.gmn, { ...PLAIN_MACHINE, uid: 4_000_000 }, systemClock);
  const hint = 'gmn does not touch it. Remove it, or run chown on it, then: gmn auth set-key';
  await expect(store.read()).rejects.toMatchObject({ exitCode: 2, hint });
  await expect(store.remove()).rejects.toMatchObject({ exitCode: 4, hint });
  const path = join(place.gmn, 'key.json');
  const message = `cannot write ${path}: it belongs to another user`;
  await expect(store.write('AIza-my-own-key')).rejects.toMatchObject({ fault: 'config', message });
  expect([readFileSync(path, 'utf8'), readdirSync(place.gmn)]).toEqual([KEY_FILE, ['key.json']]);
});

test('the note about the terms is not given where it cannot be noted down, nor at a rehearsal', async (t) => {
  const place = home(t);
  const notices = async (isRehearsal: boolean) =>
    (await chooseCredential(choiceInput(place, {}, { isRehearsal }))).notices.length;
  writeFileSync(place.gmn, 'in the way');
  expect([await notices(false), await notices(false)]).toEqual([0, 0]);
  rmSync(place.gmn);
  mkdirSync(place.gmn);
  expect([await notices(true), await notices(false), await notices(false)]).toEqual([0, 1, 0]);
});

/** An id token that names the person. */
const idToken = (sub: string): string => `h.${Buffer.from(JSON.stringify({ sub })).toString('base64url')}.s`;

test.for<[string, Readonly<Record<string, string>>, Readonly<Record<string, unknown>>]>([
  ['nothing names the person', {}, { id_token: undefined }],
  ['the official CLI noted the address', { '.gemini/google_accounts.json': '{"active":"a@b.c"}' }, {}],
  ['the id token names the person', {}, { id_token: idToken('7') }],
])('the account stays the same when the refresh token is replaced: %s', async ([, files, document], t) => {
  const place = home(t, { ...files, '.gemini/oauth_creds.json': oauthDocument(document) });
  const body = { access_token: 'ya29.new', expires_in: 3599, refresh_token: '1//new', id_token: idToken('7') };
  const bytes = async function* () {
    yield Buffer.from(JSON.stringify(body));
  };
  const env = { GMN_OAUTH_CLIENT_ID: 'i', GMN_OAUTH_CLIENT_SECRET: 's' };
  const send = async () => ({ status: 200, headers: { 'content-type': 'application/json' }, body: bytes() });
  const input = choiceInput(place, env, { send });
  const { credential: before } = await chooseCredential(input);
  await before.headers(input.signal);
  expect(JSON.parse(readFileSync(place.credentials, 'utf8'))).toMatchObject({ refresh_token: '1//new' });
  const { credential: after } = await chooseCredential(input);
  expect([after.account, await after.headers(input.signal)]).toEqual([
    before.account,
    { authorization: 'Bearer ya29.new' },
  ]);
});
