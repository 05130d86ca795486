import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { chooseCredential } from '../../src/auth/credential.ts';
import { CANARIES, home, oauthDocument } from './support/home.ts';
import { choiceInput } from './support/input.ts';

type T = Parameters<typeof home>[0];

const { signal } = new AbortController();
const KEY = 'AIza-test-key-0123456789';

/** A home without a sign-in. */
function emptyHome(t: T) {
  const place = home(t);
  rmSync(place.credentials);
  return place;
}

const SERVICE_ACCOUNT = JSON.stringify({
  type: 'service_account',
  client_email: 'robot@example.com',
  private_key: 'x',
});

test.for<[string, Record<string, string>, object, object]>([
  ['a key in the environment', { GEMINI_API_KEY: KEY }, {}, { type: 'gemini-api-key', source: 'GEMINI_API_KEY' }],
  ['GCA over all else', { GOOGLE_GENAI_USE_GCA: 'true', GEMINI_API_KEY: KEY }, {}, { type: 'oauth-personal' }],
  [
    'Vertex over a key',
    { GOOGLE_GENAI_USE_VERTEXAI: 'true', GEMINI_API_KEY: KEY, GOOGLE_API_KEY: KEY },
    {},
    { type: 'vertex-ai', source: 'GOOGLE_API_KEY' },
  ],
  [
    'Vertex by its new name',
    { GOOGLE_GENAI_USE_ENTERPRISE: 'true', GEMINI_API_KEY: KEY, GOOGLE_API_KEY: KEY },
    {},
    { type: 'vertex-ai', source: 'GOOGLE_API_KEY' },
  ],
  ['GOOGLE_API_KEY alone', { GOOGLE_API_KEY: KEY }, {}, { type: 'vertex-ai', source: 'GOOGLE_API_KEY' }],
  [
    'GEMINI_API_KEY before GOOGLE_API_KEY',
    { GOOGLE_API_KEY: KEY, GEMINI_API_KEY: KEY },
    {},
    { type: 'gemini-api-key', source: 'GEMINI_API_KEY' },
  ],
  ['Cloud Shell', { CLOUD_SHELL: 'true' }, {}, { type: 'compute-default-credentials' }],
  ['compute ADC by variable', { GEMINI_CLI_USE_COMPUTE_ADC: 'true' }, {}, { type: 'compute-default-credentials' }],
  ['the default type last', { GEMINI_DEFAULT_AUTH_TYPE: 'vertex-ai' }, {}, { type: 'vertex-ai' }],
  [
    'the settings over the environment',
    { GEMINI_API_KEY: KEY },
    { settings: { authType: 'oauth-personal' } },
    { type: 'oauth-personal', source: '~/.gemini/oauth_creds.json' },
  ],
  [
    'GMN_AUTH over the settings',
    { GEMINI_API_KEY: KEY, GMN_AUTH: 'gemini-api-key' },
    { settings: { authType: 'oauth-personal' } },
    { type: 'gemini-api-key' },
  ],
  [
    'the flag over GMN_AUTH',
    { GEMINI_API_KEY: KEY, GMN_AUTH: 'vertex-ai' },
    { flag: 'gemini-api-key', settings: { authType: 'oauth-personal' } },
    { type: 'gemini-api-key' },
  ],
  ['the old name of Cloud Shell', {}, { flag: 'cloud-shell' }, { type: 'compute-default-credentials' }],
  ['a sign-in when nothing is said', {}, {}, { type: 'oauth-personal', source: '~/.gemini/oauth_creds.json' }],
])('the choice is %s', async ([, env, changes, expected], t) => {
  const { credential } = await chooseCredential(choiceInput(home(t), env, changes));
  expect(credential).toMatchObject(expected);
});

test('a key travels in one header, and as a bearer too only where that is asked for', async (t) => {
  const place = home(t);
  const plain = await chooseCredential(choiceInput(place, { GEMINI_API_KEY: ` ${KEY}\n` }));
  expect(await plain.credential.headers(signal)).toEqual({ 'x-goog-api-key': KEY });
  expect(plain).toMatchObject({ carrier: 'key', notices: [] });
  expect(plain.credential.account).toMatch(/^[0-9a-f]{16}$/);
  expect(plain.credential.refresh).toBeUndefined();
  const both = await chooseCredential(
    choiceInput(place, { GEMINI_API_KEY: KEY, GEMINI_API_KEY_AUTH_MECHANISM: 'bearer' }),
  );
  expect(await both.credential.headers(signal)).toEqual({ 'x-goog-api-key': KEY, authorization: `Bearer ${KEY}` });
});

test('a credential does not print its secret', async (t) => {
  const { credential } = await chooseCredential(choiceInput(home(t), { GEMINI_API_KEY: KEY }));
  expect(JSON.stringify(credential)).not.toContain(KEY);
});

test('a key that no header can carry is named in the error, not shown', async (t) => {
  const choice = chooseCredential(choiceInput(home(t), { GEMINI_API_KEY: 'two\nlines-of-secret' }));
  await expect(choice).rejects.toMatchObject({
    fault: 'auth',
    message: 'GEMINI_API_KEY contains characters that no API key has',
  });
});

test('an access token in the environment is used as it is', async (t) => {
  const env = { GOOGLE_GENAI_USE_GCA: 'true', GOOGLE_CLOUD_ACCESS_TOKEN: 'ya29.given' };
  const { credential, notices } = await chooseCredential(choiceInput(emptyHome(t), env));
  expect(await credential.headers(signal)).toEqual({ authorization: 'Bearer ya29.given' });
  expect([credential.source, credential.refresh, notices]).toEqual(['GOOGLE_CLOUD_ACCESS_TOKEN', undefined, []]);
});

test('a gateway needs its address from the real environment, and may go without a key', async (t) => {
  const place = home(t);
  const fromFile = { env: {}, settings: { env: { GOOGLE_GEMINI_BASE_URL: 'https://gate.example' } } };
  await expect(chooseCredential(choiceInput(place, {}, { ...fromFile, flag: 'gateway' }))).rejects.toMatchObject({
    fault: 'config',
  });
  const real = choiceInput(place, { GOOGLE_GEMINI_BASE_URL: 'https://gate.example' }, { flag: 'gateway' });
  const { credential } = await chooseCredential(real);
  expect(credential.type).toBe('gemini-api-key');
  expect(await credential.headers(signal)).toEqual({ 'x-goog-api-key': '' });
});

test.for<[string, Record<string, string>, object, string]>([
  ['the flag', {}, { flag: 'magic' }, '--auth names an unknown type: magic'],
  ['GMN_AUTH', { GMN_AUTH: 'toString' }, {}, 'GMN_AUTH names an unknown type: toString'],
  ['the settings', {}, { settings: { authType: 'x' } }, 'security.auth.selectedType names an unknown type: x'],
  ['the default', { GEMINI_DEFAULT_AUTH_TYPE: 'y' }, {}, 'GEMINI_DEFAULT_AUTH_TYPE names an unknown type: y'],
])('an unknown type in %s is refused by name', async ([, env, changes, message], t) => {
  await expect(chooseCredential(choiceInput(home(t), env, changes))).rejects.toMatchObject({
    fault: 'auth',
    message: `${message}`,
    hint: 'Use one of: oauth-personal, gemini-api-key, gateway, vertex-ai, compute-default-credentials, cloud-shell',
  });
});

test('a type the settings do not allow is refused, and the allowed one is used if none is requested', async (t) => {
  const place = home(t);
  const settings = { enforcedAuthType: 'oauth-personal' };
  const vertex = { GOOGLE_GENAI_USE_VERTEXAI: 'true' };
  await expect(chooseCredential(choiceInput(place, vertex, { settings }))).rejects.toMatchObject({
    fault: 'auth',
    message:
      'the settings allow only oauth-personal (security.auth.enforcedType), but GOOGLE_GENAI_USE_VERTEXAI asks for vertex-ai',
  });
  for (const env of [{}, { GEMINI_API_KEY: KEY }, { GOOGLE_API_KEY: KEY }, { CLOUD_SHELL: 'true' }]) {
    const { credential } = await chooseCredential(choiceInput(place, env, { settings }));
    expect(credential.type).toBe('oauth-personal');
  }
});

const GUIDE = `Do one of these:
  export GEMINI_API_KEY=<key>   get one at https://aistudio.google.com/apikey
  gmn auth set-key              store that key, in the keyring or a private file
  gemini                        official CLI's sign-in (Workspace, Code Assist)
  gmn --demo "hello"            try gmn offline, no account needed
  gmn chat --demo               the same as a chat`;

test('with nothing at all, there are four ways forward', async (t) => {
  await expect(chooseCredential(choiceInput(emptyHome(t)))).rejects.toMatchObject({
    exitCode: 2,
    message: 'no Gemini credentials found',
    hint: 'Set GEMINI_API_KEY, store a key with: gmn auth set-key, sign in with: gemini, or add --demo',
    details: { isMissing: true, guide: GUIDE },
  });
});

test("a key in a project's .env is pointed at, not used and not shown", async (t) => {
  const place = emptyHome(t);
  const cwd = join(place.root, 'project', 'deep');
  mkdirSync(cwd, { recursive: true });
  writeFileSync(join(place.root, 'project', '.env'), 'X=1\nexport GEMINI_API_KEY="secret-of-the-project"\n');
  await expect(chooseCredential(choiceInput(place, {}, { cwd }))).rejects.toMatchObject({
    message: `no Gemini credentials found (${join(place.root, 'project', '.env')} sets GEMINI_API_KEY, but gmn does not read a project's .env)`,
  });
  await expect(chooseCredential(choiceInput(place, {}, { cwd: join(cwd, '..') }))).rejects.toMatchObject({
    message: "no Gemini credentials found (.env sets GEMINI_API_KEY, but gmn does not read a project's .env)",
  });
});

test('a requested sign-in that does not exist is reported as missing, with a key as the alternative', async (t) => {
  const input = choiceInput(emptyHome(t), { GEMINI_API_KEY: KEY }, { settings: { authType: 'oauth-personal' } });
  await expect(chooseCredential(input)).rejects.toMatchObject({
    exitCode: 2,
    hint: 'Please sign in using: gemini, or use your API key: gmn --auth gemini-api-key …',
  });
});

test('a requested key that does not exist is reported as missing', async (t) => {
  await expect(chooseCredential(choiceInput(home(t), {}, { flag: 'gemini-api-key' }))).rejects.toMatchObject({
    message: 'no API key found',
    hint: 'Set GEMINI_API_KEY, or store a key: gmn auth set-key',
  });
});

test('a service account in the place of the sign-in, or behind GOOGLE_APPLICATION_CREDENTIALS, is taken', async (t) => {
  const inPlace = home(t, { '.gemini/oauth_creds.json': SERVICE_ACCOUNT });
  expect((await chooseCredential(choiceInput(inPlace))).credential).toMatchObject({
    type: 'oauth-personal',
    source: '~/.gemini/oauth_creds.json',
  });
  const named = emptyHome(t);
  const file = join(named.root, 'key.json');
  writeFileSync(file, SERVICE_ACCOUNT);
  const env = { GOOGLE_APPLICATION_CREDENTIALS: file };
  expect((await chooseCredential(choiceInput(named, env, { flag: 'oauth-personal' }))).credential.source).toBe(
    `GOOGLE_APPLICATION_CREDENTIALS (${file})`,
  );
  const missing = { GOOGLE_APPLICATION_CREDENTIALS: join(named.root, 'nothing.json') };
  await expect(chooseCredential(choiceInput(named, missing, { flag: 'vertex-ai' }))).rejects.toMatchObject({
    fault: 'auth',
    message: expect.stringContaining('which does not exist'),
  });
});

test.for<[string, string]>([
  ['empty', ''],
  ['half', oauthDocument().slice(0, 100)],
  ['null', 'null'],
  ['an array', '[]'],
  ['a number', '7'],
  ['binary', '\0\0\0'],
])('a credential file that stays %s is an error of its own, and is left alone', async ([, text], t) => {
  const place = home(t, { '.gemini/oauth_creds.json': text });
  await expect(chooseCredential(choiceInput(place))).rejects.toMatchObject({
    exitCode: 2,
    message: '~/.gemini/oauth_creds.json is empty or damaged',
  });
});

test('a credential file with a byte order mark, unknown types or a __proto__ in it is read for what it holds', async (t) => {
  const text = `\uFEFF{"__proto__":{"access_token":"no"},"access_token":7,"refresh_token":"${CANARIES.refresh}"}`;
  const { credential, token } = await chooseCredential(choiceInput(home(t, { '.gemini/oauth_creds.json': text })));
  expect([credential.type, token]).toEqual(['oauth-personal', { canRefresh: true }]);
});

test('a credential file without a token, or that is a directory, is named in the error', async (t) => {
  await expect(chooseCredential(choiceInput(home(t, { '.gemini/oauth_creds.json': '{}' })))).rejects.toMatchObject({
    message: 'authentication failed: ~/.gemini/oauth_creds.json contains no token',
  });
  const place = emptyHome(t);
  mkdirSync(place.credentials);
  await expect(chooseCredential(choiceInput(place))).rejects.toMatchObject({
    message: 'cannot read ~/.gemini/oauth_creds.json: it is not a regular file',
  });
});
