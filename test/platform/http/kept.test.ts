import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import fc from 'fast-check';
import { expect, type TestContext, test } from 'vitest';
import { AppError } from '../../../src/core/error.ts';
import type { HttpRequest } from '../../../src/core/io.ts';
import { openDirectClient } from '../../../src/platform/http/direct.ts';
import { createPinnedClient } from '../../../src/platform/http/pinned.ts';
import { createHttpClient } from '../../../src/platform/http/send.ts';
import { yieldToIo } from '../../../src/platform/runtime/clock.ts';
import { head, loopback, TIMERS as timers } from '../../api/loopback.ts';

const SIGNAL = new AbortController().signal;

interface CountingServer {
  readonly url: URL;
  readonly sockets: readonly Socket[];
  /** The bodies of the requests that came. */
  readonly asked: readonly string[];
}

/** A server that keeps connections, and remembers them. */
async function counting(
  t: TestContext,
  serve: (response: ServerResponse, body: string, request: IncomingMessage) => void = (response) => response.end('ok'),
): Promise<CountingServer> {
  const sockets: Socket[] = [];
  const asked: string[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    asked.push(body);
    serve(response, body, request);
  });
  server.keepAliveTimeout = 0;
  server.on('connection', (socket) => sockets.push(socket.on('error', () => {})));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), sockets, asked };
}

/** `clock` is moved by the test; `lines` is what `--debug` would show. */
function connect(t: TestContext) {
  const clock = { ms: 0, now: () => clock.ms };
  const lines: string[] = [];
  const client = createHttpClient({ timers, env: {}, clock, trace: (line) => lines.push(line) });
  t.onTestFinished(client.close);
  const ask = async (url: URL, request: Partial<HttpRequest> = {}): Promise<string> => {
    const given = { method: 'POST', url, headers: {}, body: '{}', isRepeatable: true, ...request } as const;
    const response = await client.send(given, SIGNAL);
    let text = '';
    for await (const chunk of response.body) text += Buffer.from(chunk).toString();
    return `${response.status} ${text}`;
  };
  return { ...client, ask, clock, lines };
}

test('requests that may be repeated share a connection; others get one each, closed after them', async (t) => {
  const server = await counting(t);
  const { ask, send } = connect(t);
  for (let n = 0; n < 12; n += 1) expect(await ask(server.url)).toBe('200 ok');
  const { body } = await send({ method: 'GET', url: server.url, headers: {} }, SIGNAL);
  for await (const _ of body);
  expect(server.sockets).toHaveLength(1);
  for (let n = 0; n < 3; n += 1) expect(await ask(server.url, { isRepeatable: false })).toBe('200 ok');
  expect(server.sockets).toHaveLength(4);
  await expect.poll(() => server.sockets.filter(({ destroyed }) => !destroyed).length).toBe(1);
});

test('a body that was left early, or never read, takes its connection with it', async (t) => {
  const server = await counting(t, (response) => void response.write('first'));
  const client = connect(t);
  const request = { method: 'GET', url: server.url, headers: {} } as const;
  for await (const _ of (await client.send(request, SIGNAL)).body) break;
  await (await client.send(request, SIGNAL)).body[Symbol.asyncIterator]().return?.();
  expect(server.sockets).toHaveLength(2);
  await expect.poll(() => server.sockets.every(({ destroyed }) => destroyed)).toBe(true);
});

test('a kept connection that died meanwhile costs no error, and the request is not doubled', async (t) => {
  const server = await counting(t);
  const { ask, lines } = connect(t);
  await ask(server.url, { body: '1' });
  server.sockets[0]?.destroy();
  expect(await ask(server.url, { body: '2' })).toBe('200 ok');
  expect(server.asked).toEqual(['1', '2']);
  // It was noticed before the request was written.
  expect(lines.join('\n')).not.toContain('sent again');
});

test('a request that is sent again, because its connection was dead, says so in the trace', async (t) => {
  const dead = new Set<Socket>();
  const server = await counting(t, (response, body, { socket }) =>
    dead.has(socket) ? socket.destroy() : response.end(body),
  );
  const { ask, lines } = connect(t);
  await Promise.all(['1', '2'].map((body) => ask(server.url, { body })));
  expect(server.sockets).toHaveLength(2);
  for (const socket of server.sockets) dead.add(socket);
  // On a new connection, not on the other dead one.
  expect(await ask(server.url, { body: '3' })).toBe('200 3');
  expect(server.asked.slice(2)).toEqual(['3', '3']);
  expect(lines.filter((line) => line.includes('sent again'))).toEqual([
    `POST ${server.url.host}/: the kept connection was dead, sent again on a new one`,
  ]);
});

test('a request that is read and not answered is sent once more if it may be doubled, and then fails', async (t) => {
  let isKind = true;
  const server = await counting(t, (response, _, request) => (isKind ? response.end('ok') : request.socket.destroy()));
  const { ask } = connect(t);
  await ask(server.url, { body: 'kind' });
  isKind = false;
  const closed = `connection to ${server.url.host} closed before an answer came`;
  await expect(ask(server.url, { body: 'model' })).rejects.toThrow(closed);
  // The first on the kept connection, the second on a new one.
  expect(server.asked).toEqual(['kind', 'model', 'model']);
  await expect(ask(server.url, { body: 'model' })).rejects.toThrow(closed);
  expect(server.asked).toEqual(['kind', 'model', 'model', 'model']);
  isKind = true;
  await ask(server.url, { body: 'kind' });
  isKind = false;
  await expect(ask(server.url, { body: 'tools/call', isRepeatable: false })).rejects.toThrow(closed);
  expect(server.asked.slice(4)).toEqual(['kind', 'tools/call']);
});

test('once a byte of the answer came, nothing is sent again', async (t) => {
  let isKind = true;
  const server = await counting(t, (response, _, { socket }) => {
    if (isKind) response.end('ok');
    else socket.end('HTTP/1.1 2');
  });
  const { ask } = connect(t);
  await ask(server.url);
  isKind = false;
  await expect(ask(server.url)).rejects.toThrow(AppError);
  expect(server.asked).toHaveLength(2);
});

test('a server that closes idle connections at random loses no call and gets none twice', {
  timeout: 60_000,
}, async (t) => {
  const server = await counting(t, (response, body) => response.end(body));
  const { ask } = connect(t);
  let calls = 0;
  const call = fc.record({
    isRepeatable: fc.boolean(),
    /** How the server closes what is idle after it: not, at once, or while the next call is under way. */
    closes: fc.constantFrom('no', 'now', 'soon', 'reset'),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(call, { minLength: 10, maxLength: 10 }), async (list) => {
      for (const { isRepeatable, closes } of list) {
        calls += 1;
        expect(await ask(server.url, { body: String(calls), isRepeatable })).toBe(`200 ${calls}`);
        const close = (): void => {
          for (const socket of server.sockets.filter(isIdle)) {
            if (closes === 'reset') socket.resetAndDestroy();
            else socket.destroy();
          }
        };
        if (closes === 'now' || closes === 'reset') close();
        if (closes === 'soon') setImmediate(close);
      }
    }),
    { numRuns: 25 },
  );
  expect(calls).toBe(250);
  expect(server.asked).toEqual(Array.from({ length: calls }, (_, index) => String(index + 1)));
});

/** A connection on which no request is being answered; Node's server keeps that there. */
function isIdle(socket: Socket): boolean {
  return !socket.destroyed && !('_httpMessage' in socket && socket._httpMessage);
}

test.for([
  ['asks for it to be closed', { connection: 'close' }, 2],
  ['will close it within a second', { connection: 'keep-alive', 'keep-alive': 'timeout=1' }, 2],
  ['will keep it', { connection: 'keep-alive', 'keep-alive': 'timeout=30' }, 1],
] as const)('a connection whose server %s', async ([, headers, connections], t) => {
  const server = await counting(t, (response) => response.writeHead(200, headers).end('ok'));
  const { ask } = connect(t);
  await ask(server.url);
  await ask(server.url);
  expect(server.sockets).toHaveLength(connections);
});

test('what a server says unasked on a kept connection is nobody’s answer', async (t) => {
  const server = await counting(t);
  const { ask } = connect(t);
  await ask(server.url);
  const [first] = server.sockets;
  first?.write(`${head(200, { 'content-length': '4' })}evil`);
  await expect.poll(() => first?.destroyed).toBe(true);
  expect(await ask(server.url)).toBe('200 ok');
});

test.for([
  ['a length', 'content-length: 2\r\n\r\nok'],
  ['no body', 'content-length: 0\r\n\r\n'],
  ['chunks', 'transfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n'],
  ['trailers', 'transfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nx: y\r\n\r\n'],
])('an answer with %s is the end of its packet, or the connection is not used again', async ([, rest], t) => {
  let extra = '';
  const server = await loopback(t, [(socket) => void socket.write(`HTTP/1.1 200 OK\r\n${rest}${extra}`)]);
  let connections = 0;
  server.onConnection(() => (connections += 1));
  const { ask } = connect(t);
  for (let n = 0; n < 3; n += 1) await ask(server.url);
  expect(connections).toBe(1);
  for (extra of ['H', 'HTTP/1.1 2', 'HTTP/1.1 200 OK\r\n', 'HTTP/1.1 200 OK\r\ncontent-length: 4\r\n']) {
    const before = connections;
    expect(await ask(server.url)).toMatch(/^200 (?:ok)?$/);
    expect(await ask(server.url)).toMatch(/^200 (?:ok)?$/);
    expect(connections - before).toBeGreaterThan(0);
  }
});

test.for([
  ['and stays', (socket: Socket) => socket.write(TOO_LATE)],
  ['and leaves', (socket: Socket) => socket.end(TOO_LATE)],
] as const)('what a server says unasked on a connection opened ahead is nobody’s answer: %s', async ([, speak], t) => {
  const server = await counting(t);
  const { ask, preconnect } = connect(t);
  preconnect(server.url);
  await expect.poll(() => server.sockets.length).toBe(1);
  for (const socket of server.sockets) speak(socket);
  expect(await ask(server.url)).toBe('200 ok');
  await expect.poll(() => server.sockets[0]?.destroyed).toBe(true);
});

const TOO_LATE = `${head(408, { 'content-length': '4' })}evil`;

test('a connection opened ahead is used by the next request, and not opened twice', async (t) => {
  const server = await counting(t);
  const { ask, preconnect } = connect(t);
  preconnect(server.url);
  preconnect(new URL('/any/path', server.url));
  await expect.poll(() => server.sockets.length).toBe(1);
  expect(await ask(server.url)).toBe('200 ok');
  preconnect(server.url);
  expect(await ask(server.url)).toBe('200 ok');
  expect(server.sockets).toHaveLength(1);
});

test('a connection opened ahead that the server closed again costs no error', async (t) => {
  const server = await counting(t);
  const { ask, preconnect } = connect(t);
  preconnect(server.url);
  await expect.poll(() => server.sockets.length).toBe(1);
  server.sockets[0]?.destroy();
  expect(await ask(server.url, { body: '1' })).toBe('200 ok');
  expect(server.asked).toEqual(['1']);
});

test('a request that fails on a connection opened a moment ago is not repeated in silence', async (t) => {
  const server = await counting(t, (_, __, { socket }) => void socket.resetAndDestroy());
  const { ask, preconnect, clock } = connect(t);
  const open = async (): Promise<void> => {
    await expect.poll(() => server.sockets.every(({ destroyed }) => destroyed)).toBe(true);
    await yieldToIo();
    const there = server.sockets.length;
    preconnect(server.url);
    await expect.poll(() => server.sockets.length).toBe(there + 1);
    // So that the client has seen it open too.
    await yieldToIo();
  };
  await open();
  clock.ms = 999;
  await expect(ask(server.url, { body: 'young' })).rejects.toThrow('closed before an answer came');
  expect(server.asked).toEqual(['young']);
  await open();
  clock.ms += 1000;
  await expect(ask(server.url, { body: 'old' })).rejects.toThrow('closed before an answer came');
  expect(server.asked).toEqual(['young', 'old', 'old']);
});

test.for(['kept', 'opened ahead'])('after a laptop’s sleep a connection that was %s is not used', async (kind, t) => {
  const server = await counting(t);
  for (const [ms, connections] of [
    [60_000, 1],
    [60_001, 2],
  ] as const) {
    const { ask, preconnect, clock } = connect(t);
    const there = server.sockets.length;
    if (kind === 'kept') await ask(server.url);
    else preconnect(server.url);
    await expect.poll(() => server.sockets.length).toBe(there + 1);
    await yieldToIo();
    clock.ms = ms;
    expect(await ask(server.url)).toBe('200 ok');
    expect(server.sockets).toHaveLength(there + connections);
  }
});

test('a connection opened ahead is closed when nobody uses it, and opened anew for a while', async (t) => {
  const server = await counting(t);
  const client = openDirectClient({ maxIdleMs: 5 });
  t.onTestFinished(client.close);
  client.preconnect(server.url);
  await expect.poll(() => server.sockets.length).toBe(10);
  await expect.poll(() => server.sockets.every(({ destroyed }) => destroyed)).toBe(true);
  expect(server.sockets).toHaveLength(10);
});

test('a connection that has carried a request is closed when idle, and not opened anew', async (t) => {
  const server = await counting(t);
  const client = openDirectClient({ maxIdleMs: 20 });
  t.onTestFinished(client.close);
  client.preconnect(server.url);
  const request = { method: 'GET', url: server.url, headers: {} } as const;
  for await (const _ of (await client.send({ request, signal: SIGNAL, timers })).body);
  await expect.poll(() => server.sockets.every(({ destroyed }) => destroyed)).toBe(true);
  await yieldToIo();
  expect(server.sockets).toHaveLength(1);
});

test('an answer may take longer than an idle connection lasts', async (t) => {
  const server = await counting(t, (response) => void setTimeout(() => response.end('ok'), 50));
  const client = openDirectClient({ maxIdleMs: 10 });
  t.onTestFinished(client.close);
  client.preconnect(server.url);
  const request = { method: 'GET', url: server.url, headers: {} } as const;
  expect((await client.send({ request, signal: SIGNAL, timers })).status).toBe(200);
  expect(server.sockets).toHaveLength(1);
});

test('idle connections keep no process alive', async (t) => {
  const server = await counting(t);
  const { ask, preconnect } = connect(t);
  const other = await counting(t);
  const countActive = (): number => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
  const before = countActive();
  await ask(server.url);
  preconnect(other.url);
  await expect.poll(() => other.sockets.length).toBe(1);
  await yieldToIo();
  for (const socket of [...server.sockets, ...other.sockets]) socket.unref();
  expect(countActive()).toBeLessThanOrEqual(before);
});

test('a connection that cannot be opened ahead is reported only by the request', async (t) => {
  const { ask, preconnect } = connect(t);
  const nobody = new URL('http://127.0.0.1:1');
  preconnect(nobody);
  await expect(ask(nobody)).rejects.toThrow('connection to 127.0.0.1:1 refused');
  preconnect(nobody);
  await new Promise((resolve) => setImmediate(resolve));
  await expect(ask(nobody)).rejects.toThrow('connection to 127.0.0.1:1 refused');
});

test('a client behind a proxy opens nothing ahead', async (t) => {
  const server = await counting(t);
  const env = { HTTP_PROXY: 'http://127.0.0.1:1', NO_PROXY: '<-loopback>' };
  createHttpClient({ timers, env, clock: { now: () => 0 } }).preconnect(server.url);
  const { ask } = connect(t);
  await ask(server.url);
  expect(server.sockets).toHaveLength(1);
});

test('a client that is closed leaves no connection open', async (t) => {
  const server = await counting(t);
  const other = await counting(t);
  const { ask, preconnect, close } = connect(t);
  await ask(server.url);
  preconnect(other.url);
  await expect.poll(() => other.sockets.length).toBe(1);
  close();
  await expect.poll(() => [...server.sockets, ...other.sockets].every(({ destroyed }) => destroyed)).toBe(true);
});

test('a connection to pinned addresses is kept for the same addresses only', async (t) => {
  const server = await counting(t);
  const first = { address: '127.0.0.1', family: 4 };
  let addresses = [first];
  const send = createPinnedClient({ isAllowedAddress: () => true, timers, resolve: async () => addresses });
  const ask = async (): Promise<void> => {
    const request = { method: 'GET', url: new URL(`http://h.test:${server.url.port}`), headers: {} } as const;
    for await (const _ of (await send(request, SIGNAL)).body);
  };
  await ask();
  await ask();
  expect(server.sockets).toHaveLength(1);
  addresses = [first, { address: '127.0.0.2', family: 4 }];
  await ask();
  expect(server.sockets).toHaveLength(2);
});

test('the same timers hold for a request that had to be sent again', async (t) => {
  let isKind = true;
  const server = await loopback(t, [
    (socket) => void (isKind ? socket.write(`${head(200, { 'content-length': '2' })}ok`) : undefined),
  ]);
  const client = createHttpClient({ timers: { ...timers, headersMs: 50 }, env: {}, clock: { now: () => 0 } });
  t.onTestFinished(client.close);
  const request = { method: 'GET', url: server.url, headers: {} } as const;
  for await (const _ of (await client.send(request, SIGNAL)).body);
  isKind = false;
  await expect(client.send(request, SIGNAL)).rejects.toThrow('within 50 ms');
  expect(server.requests).toHaveLength(2);
});
