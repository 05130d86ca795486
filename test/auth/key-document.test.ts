import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { chooseCredential } from '../../src/auth/credential.ts';
import type { HttpRequest, SendHttp } from '../../src/core/io.ts';
import { home } from './support/home.ts';
import { choiceInput } from './support/input.ts';

const { signal } = new AbortController();
type T = Parameters<typeof home>[0];

/** The headers a run with this key file would send, or how it fails. */
async function tried(t: T, value: object, send?: SendHttp) {
  const place = home(t);
  const file = join(place.root, 'key.json');
  writeFileSync(file, JSON.stringify(value));
  const env = { GOOGLE_APPLICATION_CREDENTIALS: file };
  const input = choiceInput(place, env, { flag: 'vertex-ai', ...(send ? { send } : {}) });
  const headers = chooseCredential(input).then(({ credential }) => credential.headers(signal));
  return { file, result: await headers.catch((error: unknown) => error) };
}

const ROBOT = { type: 'service_account', client_email: 'r@p.iam.gserviceaccount.com', private_key: 'canary-key' };
const USER = {
  type: 'authorized_user',
  client_id: 'id',
  client_secret: 'canary-secret',
  refresh_token: 'canary-token',
};
const IMPERSONATION =
  'https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/target@p.iam.gserviceaccount.com:generateAccessToken';

/** A server that answers everything with a redirect to itself; gives what arrived. */
async function redirecting(t: T): Promise<{ readonly url: string; readonly arrived: string[] }> {
  const arrived: string[] = [];
  const server = createServer((request, response) => {
    arrived.push(`${request.method} ${request.url}`);
    response.writeHead(307, { location: '/elsewhere' }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, arrived };
}

test.for(['external_account', 'external_account_authorized_user', 'gdch_service_account', 'constructor'])(
  'a file of the type %s is refused with a way out, and nothing arrives anywhere',
  async (type, t) => {
    const { url, arrived } = await redirecting(t);
    const subject = join(home(t).root, 'subject');
    writeFileSync(subject, 'canary-subject');
    const { file, result } = await tried(t, {
      type,
      audience: '//iam.googleapis.com/x',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      token_url: `${url}/token`,
      credential_source: { file: subject },
    });
    expect(result).toMatchObject({
      exitCode: 2,
      message: `authentication failed: GOOGLE_APPLICATION_CREDENTIALS (${file}) is of a type that gmn does not support (${type})`,
      hint: expect.stringContaining('GOOGLE_CLOUD_ACCESS_TOKEN=$(gcloud auth print-access-token)'),
    });
    expect(arrived).toEqual([]);
  },
);

test('such a file in the place of the sign-in is refused as well', async (t) => {
  const { url, arrived } = await redirecting(t);
  const document = {
    type: 'external_account',
    token_url: `${url}/token`,
    credential_source: { file: '/etc/hostname' },
  };
  const place = home(t, { '.gemini/oauth_creds.json': JSON.stringify(document) });
  await expect(chooseCredential(choiceInput(place, {}))).rejects.toMatchObject({ exitCode: 2 });
  expect(arrived).toEqual([]);
});

test.for<[string, object]>([
  ['token_uri', { ...ROBOT, token_uri: 'http://oauth2.googleapis.com/token' }],
  ['token_uri', { ...ROBOT, token_uri: 'https://evil.example/token' }],
  ['token_uri', { ...USER, token_uri: 'https://googleapis.com.evil.example/' }],
  ['token_uri', { ...USER, token_uri: 'https://me:canary-secret@oauth2.googleapis.com/' }],
  ['token_uri', { ...USER, token_uri: 'canary-secret' }],
  ['endpoint', { ...USER, endpoint: 'https://evilgoogle.com' }],
  ['list.0.url', { ...USER, list: [{ url: 'ftp://google.com/' }] }],
  [
    'service_account_impersonation_url',
    {
      type: 'impersonated_service_account',
      service_account_impersonation_url: 'https://evil.example/serviceAccounts/t@p:generateAccessToken',
      source_credentials: USER,
    },
  ],
])('an address that is not Google’s is refused by its key: %s', async ([key, value], t) => {
  const { file, result } = await tried(t, value);
  expect(result).toMatchObject({ exitCode: 4, message: expect.stringContaining(`${key} in GOOGLE_APPLICATION`) });
  expect(String(result)).toContain(file);
  expect(String(result)).not.toContain('canary');
});

test.for<[string, object]>([
  ['private_key', { ...ROBOT, private_key: undefined }],
  ['client_email', { private_key: 'x' }],
  ['refresh_token', { ...USER, refresh_token: 7 }],
  ['source_credentials', { type: 'impersonated_service_account', service_account_impersonation_url: IMPERSONATION }],
])('a file without its %s is refused before it is used', async ([key, value], t) => {
  const { result } = await tried(t, value);
  expect(result).toMatchObject({ exitCode: 2, message: expect.stringContaining(`${key} is missing or wrong`) });
});

test('an impersonation goes the way of every other request, also for its source', async (t) => {
  const requests: HttpRequest[] = [];
  const send: SendHttp = async (request) => {
    requests.push(request);
    const body = request.url.host.startsWith('oauth2')
      ? { access_token: 'ya29.source', expires_in: 3599 }
      : { accessToken: 'ya29.target', expireTime: '2099-01-01T00:00:00Z' };
    const bytes = async function* () {
      yield Buffer.from(JSON.stringify(body));
    };
    return { status: 200, headers: { 'content-type': 'application/json' }, body: bytes() };
  };
  const document = {
    type: 'impersonated_service_account',
    service_account_impersonation_url: IMPERSONATION,
    source_credentials: USER,
  };
  const { result } = await tried(t, document, send);
  expect(result).toEqual({ authorization: 'Bearer ya29.target' });
  expect(requests.map(({ url }) => url.href)).toEqual(['https://oauth2.googleapis.com/token', IMPERSONATION]);
});
