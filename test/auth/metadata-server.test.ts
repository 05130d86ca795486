import { rmSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, type TestContext, test } from 'vitest';
import { chooseCredential } from '../../src/auth/credential.ts';
import { metadataTokenSource } from '../../src/auth/metadata-server.ts';
import { AppError } from '../../src/core/error.ts';
import type { Clock, Env } from '../../src/core/io.ts';
import { createHttpClient } from '../../src/platform/http/send.ts';
import { home } from './support/home.ts';
import { choiceInput } from './support/input.ts';

const TIMERS = { connectMs: 10_000, headersMs: 10_000, idleMs: 10_000 };
const { signal } = new AbortController();

/** A metadata server on loopback that answers in this way; keeps what was asked. */
async function metadataServer(t: TestContext, answer: (response: ServerResponse, count: number) => void) {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url} ${request.headers['metadata-flavor']}`);
    answer(response, requests.length);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

function token(response: ServerResponse, lifeS = 3599): void {
  response.writeHead(200, { 'content-type': 'application/json', 'metadata-flavor': 'Google' });
  response.end(JSON.stringify({ access_token: `ya29.machine-${lifeS}`, expires_in: lifeS, token_type: 'Bearer' }));
}

/** Time that only passes when somebody waits. */
function clockAt(start = Date.now()): Clock & { pass(ms: number): void } {
  let now = start;
  return {
    now: () => now,
    sleep: async (ms) => {
      now += ms;
    },
    pass: (ms) => {
      now += ms;
    },
  };
}

function asking(env: Env, clock: Clock = clockAt(), traced: string[] = []) {
  const { send } = createHttpClient({ timers: TIMERS, env, trace: (line) => traced.push(line), clock });
  return metadataTokenSource({ env, send, clock, scopes: ['a', 'b'] });
}

const PATH = '/computeMetadata/v1/instance/service-accounts/default/token?scopes=a%2Cb';

test('the token of the machine is asked for once, and again five minutes before its end', async (t) => {
  const { host, requests } = await metadataServer(t, (response) => token(response));
  const clock = clockAt();
  const traced: string[] = [];
  const tokenOf = asking({ GCE_METADATA_HOST: host, HTTP_PROXY: 'http://127.0.0.1:1' }, clock, traced);
  expect([await tokenOf(signal), await tokenOf(signal)]).toEqual(['ya29.machine-3599', 'ya29.machine-3599']);
  expect(requests).toEqual([`GET ${PATH} Google`]);
  clock.pass(3_299_001);
  await tokenOf(signal);
  expect(requests).toHaveLength(2);
  expect(traced[0]).toBe(`GET ${host}/computeMetadata/v1/instance/service-accounts/default/token, 0 bytes`);
});

test.for<[string, (response: ServerResponse) => void]>([
  [
    'a redirect',
    (response) => void response.writeHead(302, { location: '/elsewhere', 'metadata-flavor': 'Google' }).end(),
  ],
  ['a stranger', (response) => void response.end('{"access_token":"ya29.portal","expires_in":3599}')],
  ['no token', (response) => void response.writeHead(200, { 'metadata-flavor': 'Google' }).end('{}')],
  ['HTML', (response) => void response.writeHead(200, { 'metadata-flavor': 'Google' }).end('<html>')],
  ['no service account', (response) => void response.writeHead(404, { 'metadata-flavor': 'Google' }).end()],
])('%s is no token, and nothing else is asked', async ([, answer], t) => {
  const { host, requests } = await metadataServer(t, answer);
  expect(await asking({ GCE_METADATA_HOST: host })(signal)).toBeUndefined();
  expect(requests).toEqual([`GET ${PATH} Google`]);
});

test('a metadata server that is just starting is given a moment', async (t) => {
  const { host, requests } = await metadataServer(t, (response, count) => {
    if (count < 3) response.writeHead(503, { 'metadata-flavor': 'Google' }).end();
    else token(response);
  });
  expect(await asking({ GCE_METADATA_IP: host, GCE_METADATA_HOST: 'unused.example' })(signal)).toBe(
    'ya29.machine-3599',
  );
  expect(requests).toHaveLength(3);
});

test('a caller that leaves while the metadata server is silent gets its own reason', async (t) => {
  const controller = new AbortController();
  const { host } = await metadataServer(t, () => controller.abort(new AppError('interrupted', 'Interrupted.')));
  await expect(asking({ GCE_METADATA_HOST: host })(controller.signal)).rejects.toThrow('Interrupted.');
});

test('where detection is switched off, no request is sent', async (t) => {
  const { host, requests } = await metadataServer(t, (response) => token(response));
  const env = { GCE_METADATA_HOST: host, METADATA_SERVER_DETECTION: 'none' };
  expect([await asking(env)(signal), requests]).toEqual([undefined, []]);
});

test("the credential of a cloud machine is its metadata server's; a .env file cannot name another", async (t) => {
  const { host } = await metadataServer(t, (response) => token(response));
  const place = home(t);
  rmSync(place.credentials);
  const env = { GCE_METADATA_HOST: host, GOOGLE_CLOUD_QUOTA_PROJECT: 'quota' };
  const { send } = createHttpClient({ timers: TIMERS, env: {}, trace: () => {}, clock: clockAt() });
  const settings = { env: { ...env, GCE_METADATA_HOST: 'planted.example' } };
  const input = choiceInput(place, env, { flag: 'compute-default-credentials', send, settings });
  const { credential } = await chooseCredential(input);
  expect([credential.source, await credential.headers(signal)]).toEqual([
    'application default credentials (metadata server)',
    { authorization: 'Bearer ya29.machine-3599', 'x-goog-user-project': 'quota' },
  ]);
});

test('without any metadata server the way out is named', async (t) => {
  const place = home(t);
  const send = async () => {
    throw new AppError('api', 'cannot resolve metadata.google.internal');
  };
  const { credential } = await chooseCredential(choiceInput(place, {}, { flag: 'vertex-ai', send }));
  await expect(credential.headers(signal)).rejects.toMatchObject({
    fault: 'auth',
    message: 'authentication failed: no application default credentials found',
    hint: 'Run: gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS',
  });
});
