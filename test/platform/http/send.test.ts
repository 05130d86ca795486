import { once } from 'node:events';
import { createServer as createTlsServer } from 'node:tls';
import { expect, type TestContext, test } from 'vitest';
import { AppError } from '../../../src/core/error.ts';
import type { HttpRequest, HttpResponse, HttpTimers } from '../../../src/core/io.ts';
import { networkError, toPeer } from '../../../src/platform/http/failure.ts';
import { createHttpClient } from '../../../src/platform/http/send.ts';
import { SELF_SIGNED } from '../../api/certificates.ts';
import { type Answer, answer, head, loopback, readText, stream, TIMERS } from '../../api/loopback.ts';

function send(url: URL, request: Partial<HttpRequest> = {}, timers: Partial<HttpTimers> = {}): Promise<HttpResponse> {
  const { send: client } = createHttpClient({
    timers: { ...TIMERS, ...timers },
    env: {},
    trace: () => {},
    clock: { now: () => 0 },
  });
  return client({ method: 'POST', url, headers: {}, body: '{}', ...request }, new AbortController().signal);
}

async function tlsServer(t: TestContext, options: object): Promise<URL> {
  const server = createTlsServer({ ...SELF_SIGNED, ...options }, (socket) => socket.on('error', () => {}));
  server.on('tlsClientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.onTestFinished(() => void server.close());
  const address = server.address();
  return new URL(`https://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`);
}

test('request and answer pass unchanged, and the connection is closed', async (t) => {
  const server = await loopback(t, [answer(200, 'grün', { 'x-a': '1' })]);
  let sent = 0;
  const response = await send(new URL('/p?q=1', server.url), {
    headers: { 'x-b': '2' },
    body: 'blau ü',
    onSent: () => {
      sent += 1;
    },
  });
  expect({ status: response.status, header: response.headers['x-a'], text: await readText(response) }).toEqual({
    status: 200,
    header: '1',
    text: 'grün',
  });
  const [request] = server.requests;
  expect(request?.body).toBe('blau ü');
  expect(request?.head.split('\r\n')).toEqual([
    'POST /p?q=1 HTTP/1.1',
    'x-b: 2',
    'content-length: 7',
    `Host: ${server.url.host}`,
    'Connection: close',
  ]);
  expect(sent).toBe(1);
  await expect.poll(server.closed).toBe(1);
});

test('a request without a body sends none', async (t) => {
  const server = await loopback(t, [answer(204)]);
  const { send: client } = createHttpClient({ timers: TIMERS, env: {}, trace: () => {}, clock: { now: () => 0 } });
  const { status, body } = await client({ method: 'GET', url: server.url, headers: {} }, new AbortController().signal);
  for await (const _ of body) expect.unreachable();
  expect(status).toBe(204);
  expect(server.requests[0]?.head).not.toContain('content-length');
});

test('an upload of many slices arrives whole', async (t) => {
  const server = await loopback(t, [answer(200, 'ok')]);
  const body = 'ü'.repeat(1024 * 1024);
  expect(await readText(await send(server.url, { body }))).toBe('ok');
  expect(server.requests[0]?.body).toBe(body);
});

test('bytes arrive as they are, and what was sent is told', async (t) => {
  const server = await loopback(t, [answer(200, '')]);
  const body = Buffer.alloc(300_000, 'bytes ').subarray(6, 290_000);
  const sent: number[] = [];
  await send(server.url, { body, onProgress: (bytes) => sent.push(bytes) });
  expect(server.requests[0]?.body).toBe(body.toString());
  expect(sent.at(-1)).toBe(body.length);
  expect(sent).toEqual([...sent].sort((left, right) => left - right));
});

test('a secret address is not in the trace', async (t) => {
  const server = await loopback(t, [answer(200, '')]);
  const lines: string[] = [];
  const { send: client } = createHttpClient({
    timers: TIMERS,
    env: {},
    trace: (line) => lines.push(line),
    clock: { now: () => 0 },
  });
  const url = new URL('/secret-path?secret=1', server.url);
  const response = await client({ method: 'POST', url, headers: {}, isSecret: true }, new AbortController().signal);
  await readText(response);
  expect(lines.join()).toContain(`POST ${url.host}/…`);
  expect(lines.join()).not.toContain('secret');
});

test('a redirect is returned, not followed (N28)', async (t) => {
  const server = await loopback(t, [answer(302, '', { location: '/other' })]);
  const response = await send(server.url);
  await readText(response);
  expect(response.status).toBe(302);
  expect(server.requests).toHaveLength(1);
});

test('an early 413 is reported although the upload could not finish', async (t) => {
  const server = await loopback(t, []);
  server.onConnection((socket) => socket.once('data', () => socket.end(`${head(413, { 'content-length': '3' })}big`)));
  const response = await send(server.url, { body: 'x'.repeat(8 * 1024 * 1024) });
  expect({ status: response.status }).toEqual({ status: 413 });
});

test('a slow reader holds the sender back instead of filling memory', async (t) => {
  const written = [0, 0];
  const piece = Buffer.alloc(1024 * 1024);
  const sender =
    (reader: 0 | 1): Answer =>
    (socket) => {
      socket.write(head(200, { connection: 'close' }));
      const more = (): void => {
        while ((written[reader] ?? 0) < 60 && !socket.destroyed) {
          written[reader] = (written[reader] ?? 0) + 1;
          if (!socket.write(piece)) return void socket.once('drain', more);
        }
        socket.end();
      };
      more();
    };
  const server = await loopback(t, [sender(0), sender(1)]);
  const iterator = (await send(server.url)).body[Symbol.asyncIterator]();
  await iterator.next();
  // The same from the same server: in the time a reader in haste takes it all, the other's sender would be done too.
  let hasty = 0;
  for await (const chunk of (await send(server.url)).body) hasty += chunk.length;
  expect(hasty).toBe(60 * piece.length);
  expect(written[0]).toBeLessThan(40);
  let received = 0;
  for (let step = await iterator.next(); !step.done; step = await iterator.next()) received += step.value.length;
  expect(received).toBeGreaterThan(59 * piece.length);
  expect(written).toEqual([60, 60]);
});

test('an abort before, during and after the headers rejects with its reason and closes the connection', async (t) => {
  const reason = new AppError('interrupted', 'Interrupted.');
  const { send: client } = createHttpClient({ timers: TIMERS, env: {}, trace: () => {}, clock: { now: () => 0 } });
  const request = { method: 'POST', headers: {}, body: '' } as const;
  await expect(client({ ...request, url: new URL('http://127.0.0.1:1') }, AbortSignal.abort(reason))).rejects.toBe(
    reason,
  );

  const during = new AbortController();
  const silent = await loopback(t, [() => during.abort(reason)]);
  await expect(client({ ...request, url: silent.url }, during.signal)).rejects.toBe(reason);
  await expect.poll(silent.closed).toBe(1);

  const after = new AbortController();
  const stalled = await loopback(t, [stream([], 'stall')]);
  const response = await client({ ...request, url: stalled.url }, after.signal);
  const reading = readText(response);
  after.abort(reason);
  await expect(reading).rejects.toBe(reason);
  await expect.poll(stalled.closed).toBe(1);
});

test.for([
  ['headers', { headersMs: 30 }, (host: string) => `no answer from ${host} within 30 ms`],
  ['idle', { idleMs: 30 }, (host: string) => `${host} sent nothing for 30 ms`],
] as const)('the %s timer ends a silent exchange and closes the connection', async ([name, timers, words], t) => {
  const server = await loopback(t, [name === 'idle' ? stream(['x'], 'stall') : () => {}]);
  const exchange = send(server.url, {}, timers).then(readText);
  await expect(exchange).rejects.toMatchObject({ fault: 'api', message: words(server.url.host), retry: {} });
  await expect.poll(server.closed).toBe(1);
});

test('the connect timer covers the TLS handshake', async (t) => {
  const server = await loopback(t, [() => {}]);
  const url = new URL(`https://${server.url.host}`);
  await expect(send(url, {}, { connectMs: 30 })).rejects.toMatchObject({
    fault: 'api',
    message: `connection to ${server.url.host} timed out after 30 ms`,
    retry: { atMost: 1 },
  });
});

test('a name that does not resolve is named, and may be tried again (N1)', async () => {
  await expect(send(new URL('http://nope.invalid'))).rejects.toMatchObject({
    fault: 'api',
    message: expect.stringMatching(/^cannot resolve nope\.invalid( right now)?$/),
    cause: expect.anything(),
    retry: expect.anything(),
  });
});

test('a self-signed certificate is refused with its reason, without a retry (N6)', async (t) => {
  const url = await tlsServer(t, {});
  await expect(send(url)).rejects.toMatchObject({
    fault: 'api',
    message: `certificate of ${url.host} refused: it is self-signed`,
    hint: expect.stringContaining('NODE_EXTRA_CA_CERTS'),
    retry: undefined,
    details: { isUnsent: true },
  });
});

test('a request that was sent is not called unsent, however the connection is lost', async (t) => {
  const { url } = await loopback(t, [(socket) => void socket.destroy()]);
  const thrown: unknown = await send(url).catch((reason: unknown) => reason);
  expect(thrown).toMatchObject({ fault: 'api', details: { isUnsent: undefined } });
  // A route that is lost while the answer is waited for has the code of one that never was.
  const lost = Object.assign(new Error('x'), { code: 'EHOSTUNREACH' });
  expect(networkError(lost, 'headers', toPeer(url))).toMatchObject({ details: { isUnsent: undefined } });
});

test('a server of another age, and one without TLS, fail in the handshake (N6)', async (t) => {
  const plain = await loopback(t, [answer(200)]);
  const server = new URL(`https://${plain.url.host}`);
  const old = await tlsServer(t, { minVersion: 'TLSv1', maxVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' });
  plain.onConnection((socket) => socket.end('HTTP/1.1 400 Bad\r\n\r\n'));
  for (const url of [server, old]) {
    await expect(send(url)).rejects.toMatchObject({
      message: expect.stringMatching(/^TLS handshake with 127\.0\.0\.1:\d+ failed \((EPROTO|ERR_SSL_\w+)\)$/),
      retry: undefined,
    });
  }
});

test.for([
  ['CERT_HAS_EXPIRED', 'certificate of h.example:443 refused: it has expired'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'certificate of h.example:443 refused: it is for another host name'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'certificate of h.example:443 refused: its issuer is unknown'],
  ['CERT_REVOKED', 'certificate of h.example:443 refused: CERT_REVOKED'],
  ['EAI_AGAIN', 'cannot resolve h.example right now'],
  ['EHOSTUNREACH', 'no route to h.example:443'],
  ['ETIMEDOUT', 'connection to h.example:443 timed out'],
  ['EPIPE', 'connection to h.example:443 closed before an answer came (EPIPE)'],
] as const)('%s is reported in plain words', ([code, message]) => {
  const error = new AggregateError([Object.assign(new Error('x'), { code })]);
  expect(networkError(error, 'headers', toPeer(new URL('https://h.example')))).toMatchObject({
    message,
    cause: error,
  });
});
