import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { createServer as createTlsServer } from 'node:tls';
import { expect, type TestContext, test } from 'vitest';
import { AppError } from '../../../src/core/error.ts';
import type { HttpRequest, HttpResponse, HttpTimers } from '../../../src/core/io.ts';
import { networkError, toPeer } from '../../../src/platform/http/failure.ts';
import { createPinnedClient } from '../../../src/platform/http/pinned.ts';
import { createHttpClient } from '../../../src/platform/http/send.ts';
import { SELF_SIGNED } from '../../api/certificates.ts';
import { answer, head, loopback, readText, stream } from '../../api/loopback.ts';

/** The idle timer is longer than any test: what is told must not be left to it. */
const TIMERS: HttpTimers = { connectMs: 10_000, headersMs: 10_000, idleMs: 60_000 };
const LONG = 'x'.repeat(20 * 1024 * 1024);
const REASON = new AppError('interrupted', 'Interrupted.');

interface Setting extends Partial<HttpRequest> {
  readonly signal?: AbortSignal;
  readonly timers?: Partial<HttpTimers>;
}

function send(url: URL, { signal, timers, ...request }: Setting = {}): Promise<HttpResponse> {
  const { send: client } = createHttpClient({ timers: { ...TIMERS, ...timers }, env: {}, clock: { now: () => 0 } });
  return client({ method: 'POST', url, headers: {}, body: '{}', ...request }, signal ?? new AbortController().signal);
}

/** A server that does as it likes from the first byte of a request on, and does not hang up because we did. */
async function unruly(t: TestContext, act: (socket: Socket) => void, address = '127.0.0.1'): Promise<URL> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).once('data', () => act(socket));
  });
  server.listen(0, address);
  await once(server, 'listening');
  t.onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const bound = server.address();
  return new URL(
    `http://${address.includes(':') ? `[${address}]` : address}:${typeof bound === 'object' && bound?.port}`,
  );
}

test.for([
  ['reads no more', (socket: Socket) => socket.pause()],
  ['reads on', (socket: Socket) => socket.resume()],
] as const)('an answer that the end of the line ends is whole, though its server %s', async ([, go], t) => {
  const url = await unruly(t, (socket) => {
    go(socket);
    socket.end(`${head(413, {})}too big`);
  });
  const response = await send(url, { body: LONG });
  expect([response.status, await readText(response)]).toEqual([413, 'too big']);
});

test('a server that hangs up in the middle of an upload is not waited for', async (t) => {
  const url = await unruly(t, (socket) => socket.pause().end());
  await expect(send(url, { body: LONG })).rejects.toMatchObject({
    message: `connection to ${url.host} closed before an answer came`,
    retry: {},
  });
});

test('a server that reads nothing is left after the headers timer', async (t) => {
  const url = await unruly(t, (socket) => socket.pause());
  await expect(send(url, { body: LONG, timers: { headersMs: 50 } })).rejects.toThrow('within 50 ms');
});

test('interim answers without end do not hold off the headers timer', async (t) => {
  const url = await unruly(t, (socket) => {
    const more = (): void => {
      if (!socket.destroyed) socket.write(head(103, { link: 'x' }), () => setImmediate(more));
    };
    more();
  });
  await expect(send(url, { timers: { headersMs: 50 } })).rejects.toThrow('within 50 ms');
});

test('bytes that drip into a trailer do not hold off the idle timer', async (t) => {
  const url = await unruly(t, (socket) => {
    socket.write(`${head(200, { 'transfer-encoding': 'chunked' })}0\r\nT: `);
    const more = (): void => {
      if (!socket.destroyed) socket.write('x', () => setImmediate(more));
    };
    more();
  });
  await expect(send(url, { timers: { idleMs: 50 } }).then(readText)).rejects.toThrow('sent nothing for 50 ms');
});

test('bytes after the end of an answer are dropped, and the connection is closed', async (t) => {
  const server = await loopback(t, [
    (socket) => socket.write(`${head(200, { 'content-length': '2' })}ok${head(500, {})}`),
  ]);
  const response = await send(server.url);
  expect([response.status, await readText(response)]).toEqual([200, 'ok']);
  await expect.poll(server.closed).toBe(1);
});

test.for([
  ['ends', (socket: Socket) => socket.end()],
  ['is reset', (socket: Socket) => socket.resetAndDestroy()],
] as const)('a slow reader gets all that had arrived when the line %s', async ([, cut], t) => {
  const body = Buffer.alloc(100_000, 'abcdefghij');
  let report = (_: Socket): void => {};
  const sent = new Promise<Socket>((resolve) => (report = resolve));
  const server = await loopback(t, [
    (socket) => {
      socket.write(head(200, { 'content-length': '999999' }));
      socket.write(body, () => report(socket));
    },
  ]);
  const response = await send(server.url, { isRepeatable: true });
  const chunks = response.body[Symbol.asyncIterator]();
  const first = await chunks.next();
  const socket = await sent;
  cut(socket);
  await expect.poll(server.closed).toBe(1);
  const received: Uint8Array[] = [first.value ?? new Uint8Array()];
  const reading = (async () => {
    for (let step = await chunks.next(); !step.done; step = await chunks.next()) received.push(step.value);
  })();
  await expect(reading).rejects.toThrow('the answer was cut short');
  expect(Buffer.concat(received).equals(body)).toBe(true);
  expect(server.requests).toHaveLength(1);
});

test('compressed data that is damaged closes its connection, which its server would hold', async (t) => {
  const server = await loopback(t, [
    (socket) => socket.write(`${head(200, { 'content-encoding': 'gzip', 'content-length': '99999' })}this is no gzip`),
  ]);
  await expect(send(server.url).then(readText)).rejects.toThrow('its compressed data is incomplete or damaged');
  await expect.poll(server.closed).toBe(1);
});

test('an abort closes the connection in the middle of a handshake, and of an upload', async (t) => {
  const handshake = new AbortController();
  const silent = await loopback(t, []);
  silent.onConnection((socket) => socket.once('data', () => handshake.abort(REASON)));
  const secure = new URL(`https://${silent.url.host}`);
  await expect(send(secure, { signal: handshake.signal })).rejects.toBe(REASON);
  await expect.poll(silent.closed).toBe(1);

  const upload = new AbortController();
  const deaf = await loopback(t, []);
  deaf.onConnection((socket) => socket.once('data', () => upload.abort(REASON)));
  await expect(send(deaf.url, { body: LONG, signal: upload.signal })).rejects.toBe(REASON);
  await expect.poll(deaf.closed).toBe(1);
});

test('an abort while a name is looked up sends nothing', async (t) => {
  const server = await loopback(t, [answer(200)]);
  const url = new URL(`http://h.test:${server.url.port}`);
  const abort = new AbortController();
  const resolve = async () => {
    abort.abort(REASON);
    return [{ address: '127.0.0.1', family: 4 }];
  };
  const client = createPinnedClient({ isAllowedAddress: () => true, timers: TIMERS, resolve });
  await expect(client({ method: 'GET', url, headers: {} }, abort.signal)).rejects.toBe(REASON);
  expect(server.requests).toEqual([]);
});

test('of the addresses of a host, one where nobody listens does not matter', async (t) => {
  const server = await loopback(t, [stream(['ok'])]);
  const url = new URL(`http://h.test:${server.url.port}`);
  const addresses = [
    { address: '::1', family: 6 },
    { address: '127.0.0.1', family: 4 },
  ];
  const client = createPinnedClient({ isAllowedAddress: () => true, timers: TIMERS, resolve: async () => addresses });
  const response = await client({ method: 'GET', url, headers: {} }, new AbortController().signal);
  expect(await readText(response)).toBe('ok');
  expect(server.requests[0]?.head).toContain(`Host: ${url.host}\r\n`);
});

const hasIpv6 = Object.values(networkInterfaces()).some((own) => own?.some(({ address }) => address === '::1'));

test.skipIf(!hasIpv6)('an address of IPv6 is connected to without its brackets', async (t) => {
  const url = await unruly(t, (socket) => socket.end(`${head(200, { 'content-length': '2' })}ok`), '::1');
  expect(await readText(await send(url))).toBe('ok');
});

test('port 0 in an address is used, not replaced by 80', async () => {
  await expect(send(new URL('http://127.0.0.1:0'))).rejects.toMatchObject({
    cause: expect.not.objectContaining({ port: 80 }),
  });
});

test('TLS sends a host name to the server before its certificate is seen, but never an address', async (t) => {
  const names: string[] = [];
  const server = createTlsServer({
    ...SELF_SIGNED,
    SNICallback: (name, done) => {
      names.push(name);
      done(null);
    },
  });
  server.on('tlsClientError', () => {}).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  for (const host of ['127.0.0.1', 'localhost']) {
    await expect(send(new URL(`https://${host}:${port}`))).rejects.toThrow('refused: it is self-signed');
  }
  expect(names).toEqual(['localhost']);
});

test('TLS that fails within an answer is an answer cut short, not a handshake', () => {
  const error = Object.assign(new Error('x'), { code: 'ERR_SSL_BAD_RECORD_TYPE' });
  expect(networkError(error, 'body', toPeer(new URL('https://h.example')))).toMatchObject({
    message: 'the answer was cut short: connection to h.example:443 lost (ERR_SSL_BAD_RECORD_TYPE)',
    retry: {},
  });
});
