import { generateKeyPairSync } from 'node:crypto';
import { join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { chooseCredential } from '../../src/auth/credential.ts';
import { AppError } from '../../src/core/error.ts';
import type { HttpRequest, SendHttp } from '../../src/core/io.ts';
import { home } from './support/home.ts';
import { choiceInput } from './support/input.ts';

const { signal } = new AbortController();
const PRIVATE_KEY = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
  type: 'pkcs8',
  format: 'pem',
});

/** A network of one answer; keeps what was sent. */
function network(status: number, body: string): { readonly send: SendHttp; readonly requests: HttpRequest[] } {
  const requests: HttpRequest[] = [];
  const send: SendHttp = async (request) => {
    requests.push(request);
    const bytes = async function* () {
      yield Buffer.from(body);
    };
    return {
      status,
      headers: { 'content-type': 'application/json', location: 'https://evil.example/' },
      body: bytes(),
    };
  };
  return { send, requests };
}

const SERVICE_ACCOUNT = {
  type: 'service_account',
  project_id: 'p',
  private_key: PRIVATE_KEY,
  client_email: 'robot@p.iam.gserviceaccount.com',
};

/** The credential of a run with this key file, and how an error names the file. */
async function credentialOf(t: TestContext, send?: SendHttp, document: object = SERVICE_ACCOUNT, flag = 'vertex-ai') {
  const place = home(t, { 'service.json': JSON.stringify(document) });
  const file = join(place.root, 'service.json');
  const input = choiceInput(place, { GOOGLE_APPLICATION_CREDENTIALS: file }, { flag, ...(send && { send }) });
  return { ...(await chooseCredential(input)), source: `GOOGLE_APPLICATION_CREDENTIALS (${file})` };
}

test('a service account signs for its token at Google, and nowhere else', async (t) => {
  const { send, requests } = network(200, '{"access_token":"ya29.robot","expires_in":3599}');
  const document = { ...SERVICE_ACCOUNT, token_uri: 'https://oauth2.googleapis.com/token' };
  const { credential, carrier } = await credentialOf(t, send, document);
  expect([carrier, await credential.headers(signal)]).toEqual(['bearer', { authorization: 'Bearer ya29.robot' }]);
  await credential.headers(signal);
  expect(requests.map(({ method, url }) => `${method} ${url.href}`)).toEqual([
    'POST https://oauth2.googleapis.com/token',
  ]);
  // They name gmn, not the library.
  expect(requests[0]?.headers).toMatchObject({ 'user-agent': 'gmn/0.0.0' });
  expect(requests[0]?.headers).not.toHaveProperty('x-goog-api-client');
  const claims = new URLSearchParams(String(requests[0]?.body)).get('assertion')?.split('.')[1] ?? '';
  expect(JSON.parse(Buffer.from(claims, 'base64url').toString('utf8'))).toMatchObject({
    iss: 'robot@p.iam.gserviceaccount.com',
    scope: 'https://www.googleapis.com/auth/cloud-platform',
  });
});

test("gcloud's own credentials are refreshed with gcloud's own client", async (t) => {
  const user = {
    type: 'authorized_user',
    client_id: 'gcloud-id',
    client_secret: 'gcloud-secret',
    refresh_token: '1//g',
  };
  const { send, requests } = network(200, '{"access_token":"ya29.user","expires_in":3599}');
  const document = { ...user, quota_project_id: 'quota' };
  const { credential } = await credentialOf(t, send, document, 'compute-default-credentials');
  expect(await credential.headers(signal)).toEqual({
    authorization: 'Bearer ya29.user',
    'x-goog-user-project': 'quota',
  });
  expect(Object.fromEntries(new URLSearchParams(String(requests[0]?.body)))).toMatchObject({
    client_id: 'gcloud-id',
    refresh_token: '1//g',
  });
});

const KEY_HINT =
  'Check that the account and its key still exist and are enabled, or set GOOGLE_APPLICATION_CREDENTIALS to another file.';
const AGAIN = 'Check the network and try again in a moment.';

test.for<[number, string, string, string]>([
  [
    400,
    '{"error":"invalid_grant","error_description":"ya29.canary"}',
    'the token server refused it (invalid_grant)',
    KEY_HINT,
  ],
  [403, '{"error":{"status":"PERMISSION_DENIED"}}', 'the token server refused it (PERMISSION_DENIED)', KEY_HINT],
  [401, '{"error":"ya29.canary"}', 'the token server refused it (401)', KEY_HINT],
  [307, '', 'the token server answered with a redirect (307)', AGAIN],
  [503, 'oops', 'the token server answered 503', AGAIN],
  [200, '<html>', 'the token server answered without a token that can be sent', AGAIN],
  [200, '{"access_token":"a\\nb"}', 'the token server answered without a token that can be sent', AGAIN],
  [200, '{"access_token":"ä"}', 'the token server answered without a token that can be sent', AGAIN],
])('an answer of %i (%s) is reported without quoting the server', async ([status, body, why, hint], t) => {
  const { send, requests } = network(status, body);
  const { credential, source } = await credentialOf(t, send);
  await expect(credential.headers(signal)).rejects.toMatchObject({
    exitCode: 2,
    message: `authentication failed: ${source} gave no token: ${why}`,
    hint,
    cause: undefined,
  });
  expect(new Set(requests.map(({ url }) => url.host))).toEqual(new Set(['oauth2.googleapis.com']));
});

test('a network that fails is named, and gcloud is not blamed', async (t) => {
  const send: SendHttp = async () => {
    throw new AppError('api', 'cannot reach oauth2.googleapis.com');
  };
  const { credential } = await credentialOf(t, send);
  await expect(credential.headers(signal)).rejects.toMatchObject({
    exitCode: 2,
    message: expect.stringMatching(/gave no token: cannot reach oauth2.googleapis.com$/),
    hint: AGAIN,
  });
});

test('a key that cannot sign is reported as unusable, and nothing is sent', async (t) => {
  const { credential } = await credentialOf(t, undefined, { ...SERVICE_ACCOUNT, private_key: 'canary' });
  await expect(credential.headers(signal)).rejects.toMatchObject({
    exitCode: 2,
    message: expect.stringMatching(/gave no token: its content cannot be used$/),
    hint: KEY_HINT,
  });
});

test('a token that a caller gave up on is not lost to the next, long after the first has gone', async (t) => {
  const answers: (() => void)[] = [];
  const { send: answering } = network(200, '{"access_token":"ya29.robot","expires_in":3599}');
  const send: SendHttp = async (request, caller) => {
    await new Promise<void>((resolve, reject) => {
      caller.addEventListener('abort', () => reject(caller.reason));
      answers.push(resolve);
    });
    return answering(request, caller);
  };
  const { credential } = await credentialOf(t, send);
  const first = new AbortController();
  const leaving = credential.headers(first.signal);
  const staying = credential.headers(signal);
  await expect.poll(() => answers.length).toBe(1);
  first.abort(new Error('enough'));
  await expect(leaving).rejects.toThrow('enough');
  answers[0]?.();
  expect(await staying).toEqual({ authorization: 'Bearer ya29.robot' });
});

test('a request of a caller that gave up is stopped, and the next one works', async (t) => {
  const { send: answering } = network(200, '{"access_token":"ya29.robot","expires_in":3599}');
  const stopped: unknown[] = [];
  const send: SendHttp = async (request, caller) => {
    if (stopped.length > 0) return answering(request, caller);
    return new Promise((_, reject) => {
      caller.addEventListener('abort', () => {
        stopped.push(caller.reason);
        reject(caller.reason);
      });
      only.abort(new Error('enough'));
    });
  };
  const only = new AbortController();
  const { credential } = await credentialOf(t, send);
  await expect(credential.headers(only.signal)).rejects.toThrow('enough');
  expect(await credential.headers(signal)).toEqual({ authorization: 'Bearer ya29.robot' });
  expect(stopped).toEqual([new Error('enough')]);
});
