import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { createConnection } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { type HttpServer, listen, type ServeHandler } from '../../../src/platform/http/server.ts';

async function serving(handler: ServeHandler, port = 0): Promise<HttpServer> {
  const server = await listen({ port, handler });
  onTestFinished(() => server.close());
  return server;
}

test('a handler sees the request whole', async () => {
  const server = await serving(async ({ method, path, query, headers, body }, reply) =>
    reply.send(201, { 'x-a': '1' }, JSON.stringify([method, path, query.get('q'), headers['x-b'], body])),
  );
  const response = await fetch(`${server.url}/a%20b?q=%E2%98%83`, {
    method: 'POST',
    body: 'ü',
    headers: { 'x-b': '2' },
  });
  expect([response.status, response.headers.get('x-a')]).toEqual([201, '1']);
  expect(await response.json()).toEqual(['POST', '/a%20b', '☃', '2', 'ü']);
});

test('a writer waits for its reader, and hears when it leaves', async () => {
  let written = 0;
  let stop = (_reason: unknown): void => undefined;
  const stopped = new Promise((resolve) => {
    stop = resolve;
  });
  const chunk = 'x'.repeat(1_000_000);
  const server = await serving(async (_request, reply) => {
    reply.begin(200, {});
    try {
      for (;;) {
        await reply.write(chunk);
        written += 1;
      }
    } catch (thrown) {
      stop(thrown);
    }
  });
  const socket = createConnection(Number(new URL(server.url).port), '127.0.0.1');
  await new Promise<void>((resolve) =>
    socket.once('data', () => resolve()).write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n'),
  );
  socket.pause();
  socket.destroy();
  expect(await stopped).toMatchObject({ name: 'AbortError' });
  expect(written).toBeLessThan(100);
});

test('a handler that fails is a 500, or a cut line once the answer began', async () => {
  const server = await serving(async ({ path }, reply) => {
    if (path === '/late') {
      reply.begin(200, {});
      await reply.write('half');
    }
    throw new Error('broken');
  });
  const early = await fetch(`${server.url}/early`);
  expect([early.status, await early.text()]).toEqual([500, 'broken\n']);
  await expect((async () => (await fetch(`${server.url}/late`)).text())()).rejects.toThrow();
});

test('what was written before a cut arrives', async () => {
  const server = await serving(async (_request, reply) => {
    reply.begin(200, {});
    await reply.write('half');
    reply.cut();
  });
  const socket = createConnection(Number(new URL(server.url).port), '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  let received = '';
  for await (const chunk of socket) received += chunk;
  // A proper end would be one more chunk, of no bytes.
  expect(received).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\n4\r\nhalf\r\n$/);
});

test('a body over the limit is refused', async () => {
  const server = await serving(async (_request, reply) => reply.send(200, {}, 'read'));
  const post = async (bytes: number): Promise<readonly unknown[]> => {
    const sending = request(server.url, { method: 'POST' }).end(Buffer.alloc(bytes));
    const [response] = (await once(sending, 'response')) as [IncomingMessage];
    return [response.statusCode, (await response.toArray()).join('')];
  };
  expect(await post(64_000_001)).toEqual([413, 'The request body is too large.\n']);
  expect(await post(64_000_000)).toEqual([200, 'read']);
});

test('a port in use is a usage error with a way out', async () => {
  const handler: ServeHandler = async (_request, reply) => reply.send(200, {}, '');
  const port = Number(new URL((await serving(handler)).url).port);
  await expect(listen({ port, handler })).rejects.toMatchObject({
    fault: 'usage',
    message: `port ${port} is already in use`,
    hint: 'Choose another port, or leave it out to get a free one.',
  });
});

test('closing frees the port while a client is still connected', async () => {
  const server = await listen({ port: 0, handler: async (_request, reply) => reply.begin(200, {}) });
  const response = await fetch(server.url);
  await server.close();
  await expect(response.text()).rejects.toThrow();
  await expect(fetch(server.url)).rejects.toThrow();
});
