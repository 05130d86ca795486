import { createCipheriv, randomBytes, scryptSync } from 'node:crypto';
import { chmodSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { chooseCredential } from '../../src/auth/credential.ts';
import { checkKey, keyStore } from '../../src/auth/key-store.ts';
import { findClientPair } from '../../src/auth/official-client.ts';
import { systemClock } from '../../src/platform/runtime/clock.ts';
import { isWindows, posixTest, systemMode } from '../support/posix.ts';
import { CANARIES, type Home, home, oauthDocument } from './support/home.ts';
import { choiceInput, PLAIN_MACHINE } from './support/input.ts';

type T = Parameters<typeof home>[0];
const { signal } = new AbortController();
const LATER = Date.now() + 3_000_000;

function password(accessToken: string): string {
  const token = { accessToken, refreshToken: CANARIES.refresh, tokenType: 'Bearer', expiresAt: LATER };
  return JSON.stringify({ serverName: 'main-account', token, updatedAt: 1 });
}

/** The recipe of the official CLI, written down once more so that ours is compared with it. */
function seal(text: string, host: string, ivBytes = 12): string {
  const key = scryptSync('gemini-cli-oauth', `${host}-test-user-gemini-cli`, 32);
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv('aes-256-gcm', key, iv);
  const body = cipher.update(text, 'utf8', 'hex') + cipher.final('hex');
  return `${iv.toString('hex')}:${cipher.getAuthTag().toString('hex')}:${body}`;
}

const SEALED = JSON.stringify({
  'gemini-cli-oauth': { 'main-account': password('ya29.sealed') },
  'gemini-cli-api-key': {
    'default-api-key': JSON.stringify({ token: { accessToken: 'AIza-official-key', tokenType: 'ApiKey' } }),
  },
});

async function authorization(place: Home, env: Record<string, string>, changes = {}) {
  const { credential } = await chooseCredential(choiceInput(place, env, changes));
  return [credential.source, (await credential.headers(signal)).authorization];
}

test.for([12, 16])('the encrypted file is read when its variable asks for it (%i-byte IV)', async (bytes, t) => {
  const place = home(t, { '.gemini/gemini-credentials.json': seal(SEALED, 'test-host', bytes) });
  rmSync(place.credentials);
  const expected = ['~/.gemini/gemini-credentials.json', 'Bearer ya29.sealed'];
  expect(await authorization(place, { GEMINI_FORCE_ENCRYPTED_FILE_STORAGE: 'true' })).toEqual(expected);
  expect(await authorization(place, { GEMINI_FORCE_FILE_STORAGE: 'true' })).toEqual(expected);
  await expect(authorization(place, {})).rejects.toMatchObject({
    message: 'no Gemini credentials found',
  });
});

test('an encrypted file of another machine is reported as such, and left alone', async (t) => {
  const sealed = seal(SEALED, 'another-host');
  const place = home(t, { '.gemini/gemini-credentials.json': sealed });
  await expect(authorization(place, { GEMINI_FORCE_ENCRYPTED_FILE_STORAGE: 'true' })).rejects.toMatchObject({
    exitCode: 2,
    message: '~/.gemini/gemini-credentials.json was stored for another machine or user',
  });
  expect(readFileSync(join(place.gemini, 'gemini-credentials.json'), 'utf8')).toBe(sealed);
});

test("the official CLI's stored key is taken when a key is asked for", async (t) => {
  const place = home(t, { '.gemini/gemini-credentials.json': seal(SEALED, 'test-host') });
  const { credential } = await chooseCredential(choiceInput(place, {}, { settings: { authType: 'gemini-api-key' } }));
  expect(credential.source).toBe('~/.gemini/gemini-credentials.json');
  expect(await credential.headers(signal)).toEqual({ 'x-goog-api-key': 'AIza-official-key' });
});

/** A stand-in for /usr/bin/security. */
function security(place: Home, script: string): string {
  const path = join(place.root, 'security');
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}

function mac(place: Home, script: string, changes = {}) {
  return { machine: { ...PLAIN_MACHINE, platform: 'darwin', securityProgram: security(place, script), ...changes } };
}

posixTest('on macOS the Keychain comes before the file', async (t) => {
  const place = home(t);
  const script = `[ "$*" = "find-generic-password -s gemini-cli-oauth -a main-account -w" ] && echo '${password('ya29.chain')}'`;
  expect(await authorization(place, {}, mac(place, script))).toEqual(['macOS Keychain', 'Bearer ya29.chain']);
});

posixTest.for([
  ['has no such entry', 'exit 44'],
  ['is locked', 'exit 36'],
  ['does not answer', 'exec sleep 60'],
])('when the Keychain %s, the file is taken', async ([, script = ''], t) => {
  const place = home(t, { '.gemini/oauth_creds.json': oauthDocument({ expiry_date: LATER }) });
  expect(await authorization(place, {}, mac(place, script))).toEqual([
    '~/.gemini/oauth_creds.json',
    `Bearer ${CANARIES.access}`,
  ]);
});

posixTest('a notice says that macOS may be asking the user', async (t) => {
  const place = home(t);
  const said: string[] = [];
  const script = `echo '${password('ya29.chain')}'`;
  const changes = { ...mac(place, script, { isInteractive: true }), notify: (message: string) => said.push(message) };
  expect(await authorization(place, {}, changes)).toEqual(['macOS Keychain', 'Bearer ya29.chain']);
  expect(said).toEqual([
    'macOS is asking whether gmn may read the Gemini sign-in from the Keychain (waiting up to 60 s).',
  ]);
});

/** A keyring library that keeps its entries in a file, or never answers. */
function keyringModule(place: Home, isHanging = false): string {
  const path = join(place.root, 'keyring.cjs');
  const store = JSON.stringify(join(place.root, 'keyring.json'));
  writeFileSync(
    path,
    `const fs = require('node:fs');
const load = () => { try { return JSON.parse(fs.readFileSync(${store}, 'utf8')); } catch { return {}; } };
exports.Entry = class {
  constructor(service, account) { this.name = service + '/' + account; if (${isHanging}) for (;;); }
  getPassword() { return load()[this.name] ?? null; }
  setPassword(secret) { fs.writeFileSync(${store}, JSON.stringify({ ...load(), [this.name]: secret })); }
  deletePassword() { const { [this.name]: old, ...rest } = load(); fs.writeFileSync(${store}, JSON.stringify(rest)); return old !== undefined; }
};`,
  );
  return path;
}

function opened(place: Home, module: string | undefined) {
  return keyStore(place.gmn, { ...PLAIN_MACHINE, keyringModule: () => module }, systemClock);
}

test('a key goes into the keyring where there is one, and gmn keeps only a note of that', async (t) => {
  const place = home(t);
  const store = opened(place, keyringModule(place));
  expect(await store.write('AIza-stored-key')).toBe('keyring');
  expect(readFileSync(join(place.gmn, 'key.json'), 'utf8')).toBe('{"version":1,"place":"keyring"}\n');
  expect(await store.read()).toEqual({ key: 'AIza-stored-key', place: 'keyring' });
  await expect(opened(place, undefined).read()).rejects.toMatchObject({ fault: 'auth' });
  expect(await store.remove()).toBe(true);
  expect(readFileSync(join(place.root, 'keyring.json'), 'utf8')).toBe('{}');
  expect(await store.read()).toBeUndefined();
});

test.for([
  ['there is no keyring', false],
  ['the keyring hangs', true],
])('a key goes into a private file when %s', async ([, isHanging], t: T) => {
  const place = home(t);
  const store = opened(place, isHanging ? keyringModule(place, true) : undefined);
  expect(await store.write('AIza-stored-key')).toBe('file');
  if (!isWindows) expect(statSync(join(place.gmn, 'key.json')).mode & 0o777).toBe(systemMode(0o600));
  expect(await store.read()).toEqual({ key: 'AIza-stored-key', place: 'file' });
  expect([await store.remove(), await store.remove(), await store.read()]).toEqual([true, false, undefined]);
});

test('a stored key comes before a sign-in, and after everything the environment says', async (t) => {
  const place = home(t);
  await opened(place, undefined).write('AIza-stored-key');
  const { credential } = await chooseCredential(choiceInput(place));
  expect([credential.source, await credential.headers(signal)]).toEqual([
    '~/.gmn/key.json',
    { 'x-goog-api-key': 'AIza-stored-key' },
  ]);
  const env = { GEMINI_API_KEY: 'AIza-from-environment' };
  expect((await chooseCredential(choiceInput(place, env))).credential.source).toBe('GEMINI_API_KEY');
});

test('a damaged key file is quarantined and reported', async (t) => {
  const place = home(t, { '.gmn/key.json': '{"version":1,"place":"fi' });
  await expect(opened(place, undefined).read()).rejects.toMatchObject({
    fault: 'auth',
    hint: 'Store the key again: gmn auth set-key',
  });
  expect(readdirSync(place.gmn)).toEqual([expect.stringMatching(/^key\.json\.corrupt-\d{8}T\d{6}Z$/)]);
});

test.for([
  ['', 'no key was given'],
  ['two words-of-secret', 'that is not an API key: it has spaces or line breaks in it'],
  ['short', 'that is not an API key: it has the wrong length or characters'],
  ['schlüssel-geheim', 'that is not an API key: it has the wrong length or characters'],
])('%j is not taken for a key', ([pasted = '', message]) => {
  expect(() => checkKey(pasted)).toThrow(expect.objectContaining({ fault: 'usage', message }));
});

test('a key is trimmed', () => {
  expect(checkKey('  AIza-test-key-0123456789\r\n')).toBe('AIza-test-key-0123456789');
});

function official(version: string, id: string): Record<string, string> {
  return {
    'lib/node_modules/@google/gemini-cli/package.json': JSON.stringify({ name: '@google/gemini-cli', version }),
    'lib/node_modules/@google/gemini-cli/bundle/chunk-A.js': 'use(OAUTH_CLIENT_ID, OAUTH_CLIENT_SECRET)',
    'lib/node_modules/@google/gemini-cli/bundle/chunk-B.js': `var OAUTH_CLIENT_ID = "${id}", x;\nvar OAUTH_CLIENT_SECRET = 'canary-secret-pair';use(OAUTH_CLIENT_ID)`,
    'bin/gemini': '#!/bin/sh\n',
  };
}

test('the OAuth client is found in the official CLI, remembered privately, and found anew with its next version', async (t) => {
  const place = home(t, official('1.0.0', 'first-client-id.example'));
  const homes = { gemini: place.gemini, gmn: place.gmn };
  const find = (env: Record<string, string>) => findClientPair({ env }, homes, systemClock);
  const env = { PATH: `/nonexistent:${join(place.root, 'bin')}` };
  expect(await find(env)).toEqual({ id: 'first-client-id.example', secret: 'canary-secret-pair' });
  if (!isWindows) expect(statSync(join(place.gmn, 'oauth-client.json')).mode & 0o777).toBe(systemMode(0o600));
  expect(await find({ PATH: '' })).toEqual({ id: 'first-client-id.example', secret: 'canary-secret-pair' });
  for (const [name, text] of Object.entries(official('1.0.1', 'second-client-id.example'))) {
    writeFileSync(join(place.root, name), text);
  }
  expect((await find(env)).id).toBe('second-client-id.example');
  rmSync(join(place.root, 'lib'), { recursive: true });
  await expect(find(env)).rejects.toMatchObject({
    fault: 'auth',
    hint: expect.stringContaining('GMN_OAUTH_CLIENT_ID'),
  });
});

test('the environment, then the settings, name the OAuth client before anything is searched', async (t) => {
  const place = home(t);
  const homes = { gemini: place.gemini, gmn: place.gmn };
  const oauthClient = { id: 'from-settings', secret: 's' };
  const env = { GMN_OAUTH_CLIENT_ID: 'from-env', GMN_OAUTH_CLIENT_SECRET: 'e' };
  expect(await findClientPair({ env, oauthClient }, homes, systemClock)).toEqual({ id: 'from-env', secret: 'e' });
  expect(await findClientPair({ env: {}, oauthClient }, homes, systemClock)).toEqual(oauthClient);
});

test('a damaged cache of the OAuth client is quarantined and written again', async (t) => {
  const place = home(t, { ...official('1.0.0', 'first-client-id.example'), '.gmn/oauth-client.json': '{' });
  const env = { PATH: join(place.root, 'bin') };
  const pair = await findClientPair({ env }, { gemini: place.gemini, gmn: place.gmn }, systemClock);
  expect(pair.id).toBe('first-client-id.example');
  expect(readdirSync(place.gmn).sort()).toEqual(['oauth-client.json', expect.stringContaining('.corrupt-')]);
});
