import type { ServerResponse } from 'node:http';
import { expect, type TestContext, test } from 'vitest';
import type { JsonObject } from '../../../../src/core/json.ts';
import { connectServer } from '../../../../src/mcp/client/connect.ts';
import type { ClientContext } from '../../../../src/mcp/client/types.ts';
import { bothEras, eventPair, type Handle, httpPeer, streamable } from '../http-peer.ts';
import { faultOf, server, surroundings } from '../support.ts';

const signal = new AbortController().signal;

async function remote(
  t: TestContext,
  handle: Handle,
  { context, ...entry }: JsonObject & { context?: ClientContext } = {},
) {
  const peer = await httpPeer(t, handle);
  const around = context ?? surroundings(t).context;
  const open = async () => {
    const connection = await connectServer(server({ url: peer.url, ...entry }, 'remote'), around, signal);
    t.onTestFinished(() => connection.close());
    return connection;
  };
  return { ...peer, open, context: around };
}

const echoed = { content: [{ type: 'text', text: 'remote hi' }], isError: false };

test.for(['json', 'events'] as const)(
  'a Streamable HTTP server that answers in %s is listed and called',
  async (style, t) => {
    const { open, received } = await remote(t, streamable(style), { type: 'http', headers: { 'x-key': 'k' } });
    const connection = await open();
    expect(connection.serverInfo).toEqual({ name: 'remote', version: '1' });
    expect((await connection.listTools()).items).toEqual([
      { name: 'echo', description: '', inputSchema: { type: 'object' } },
    ]);
    expect(await connection.callTool('echo', { message: 'hi' })).toEqual(echoed);
    await connection.close();
    expect(received.every(({ headers }) => headers['x-key'] === 'k')).toBe(true);
    expect(received.at(-1)).toMatchObject({ method: 'DELETE', headers: { 'mcp-session-id': 'session-1' } });
  },
);

test('an SSE server is listed and called', async (t) => {
  const connection = await (await remote(t, eventPair(), { type: 'sse' })).open();
  expect((await connection.listTools()).items).toHaveLength(1);
  expect(await connection.callTool('echo', { message: 'hi' })).toEqual(echoed);
});

test('an address alone is tried as Streamable HTTP, then as SSE', async (t) => {
  const { open, received } = await remote(t, eventPair());
  expect(await (await open()).callTool('echo', { message: 'hi' })).toEqual(echoed);
  expect(received.map(({ method }) => method).slice(0, 3)).toEqual(['POST', 'POST', 'GET']);
});

test('an address that fails in another way is not tried as SSE', async (t) => {
  const { open, received } = await remote(t, (_, response) => void response.writeHead(500).end('broken'));
  const fault = await faultOf(open());
  expect(fault.message).toContain('HTTP 500');
  expect(received.map(({ method }) => method)).not.toContain('GET');
});

test('a server without a handshake is spoken to without one', async (t) => {
  const { open, received } = await remote(t, bothEras(), { type: 'http' });
  const connection = await open();
  expect(connection.protocolVersion).toBe('2026-07-28');
  expect(connection.instructions).toBe('Modern.');
  expect((await connection.listTools()).items.map(({ name }) => name)).toEqual(['echo']);
  expect((await connection.callTool('echo', { message: 'hi' })).content).toEqual([{ type: 'text', text: 'hi' }]);
  expect(received.some(({ body }) => body.includes('"initialize"'))).toBe(false);
});

test('a server with a handshake is asked only once whether it needs one', async (t) => {
  const { open, received } = await remote(t, streamable('json'), { type: 'http' });
  await open();
  await open();
  expect(received.filter(({ body }) => body.includes('server/discover'))).toHaveLength(1);
});

test('a server that was brought up to date since is found out', async (t) => {
  let handle = streamable('json');
  const { open } = await remote(t, (request, response) => handle(request, response), { type: 'http' });
  expect((await open()).protocolVersion).toBe('2025-11-25');
  handle = bothEras('reject');
  expect((await open()).protocolVersion).toBe('2026-07-28');
});

test('a server that wants a sign-in says so, and how', async (t) => {
  const { open } = await remote(t, (_, response) => void response.writeHead(401).end(), { type: 'http' });
  const fault = await faultOf(open());
  expect({ ...fault, message: fault.message }).toMatchObject({
    fault: 'mcp',
    details: { status: 401 },
    message: 'MCP server remote: it requires a sign-in (HTTP 401)',
    hint: 'To sign in, run: gmn mcp auth remote',
  });
});

test('a server that is not there says so', async (t) => {
  const { context } = surroundings(t);
  const fault = await faultOf(connectServer(server({ httpUrl: 'http://127.0.0.1:9/' }, 'remote'), context, signal));
  expect(fault.message).toBe('MCP server remote: connection to 127.0.0.1:9 refused');
});

test('no header goes with a redirect to another origin', async (t) => {
  const other = await httpPeer(t, streamable('json'));
  const { open } = await remote(t, (_, response) => void response.writeHead(307, { location: other.url }).end(), {
    type: 'http',
    headers: { authorization: 'Bearer secret-secret' },
  });
  const fault = await faultOf(open());
  expect(fault.fault).toBe('mcp');
  expect(fault.message).not.toContain('secret');
  expect(other.received).toEqual([]);
});

test('an SSE server may not send us to another origin', async (t) => {
  const other = await httpPeer(t, streamable('json'));
  const { open } = await remote(t, eventPair(`${other.url}/post`), {
    type: 'sse',
    headers: { authorization: 'Bearer secret-secret' },
  });
  expect((await faultOf(open())).fault).toBe('mcp');
  const either = await remote(t, eventPair(`${other.url}/post`));
  expect((await faultOf(either.open())).message).toContain('origin');
  expect(other.received).toEqual([]);
});

test('an address that speaks neither is reported with its answer to the newer transport', async (t) => {
  const page = await remote(
    t,
    ({ method }, response) =>
      void response.writeHead(method === 'GET' ? 200 : 405, { 'content-type': 'text/html' }).end('<html>'),
  );
  expect((await faultOf(page.open())).message).toBe('MCP server remote: it answered HTTP 405');
});

/** A server whose responses to tools/call are written by `answerCall`. */
function breaking(inner: Handle, answerCall: (response: ServerResponse) => void): Handle {
  let stream: ServerResponse | undefined;
  return (request, response) => {
    if (request.method === 'GET') stream = response;
    if (!request.body.includes('tools/call')) return inner(request, response);
    if (stream === undefined || stream.writableEnded) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      return answerCall(response);
    }
    response.writeHead(202).end();
    return answerCall(stream);
  };
}

const endings: Readonly<Record<string, readonly [(response: ServerResponse) => void, string]>> = {
  'is ended': [(response) => void response.end('event: message\n'), ''],
  'is cut': [
    (response) => void response.write('event: message\n', () => response.destroy()),
    ': the answer was cut short: connection to (host) lost',
  ],
  'is one event without an end': [
    (response) => {
      const more = (): void => {
        while (!response.destroyed && response.write('data: '.padEnd(1_000_000, 'x')));
        response.once('drain', more);
      };
      more();
    },
    ': it sent more than 16.0 MB at once, more than gmn accepts',
  ],
};

const withoutPort = (text: string): string => text.replace(/127\.0\.0\.1:\d+/, '(host)');

test.for(Object.keys(endings))('a call whose stream of events %s fails at once', async (how, t) => {
  const [answerCall, why] = endings[how] ?? [() => {}, ''];
  const connection = await (await remote(t, breaking(streamable('events'), answerCall), { type: 'http' })).open();
  const fault = await faultOf(connection.callTool('echo', { message: 'hi' }));
  expect(withoutPort(fault.message)).toBe(`MCP server remote: its answer to tools/call broke off${why}`);
  expect((await connection.listTools()).items).toHaveLength(1);
});

test.for(Object.keys(endings))('a call at an SSE server whose stream %s fails at once', async (how, t) => {
  const [answerCall, why] = endings[how] ?? [() => {}, ''];
  const connection = await (await remote(t, breaking(eventPair(), answerCall), { type: 'sse' })).open();
  const fault = await faultOf(connection.callTool('echo', { message: 'hi' }));
  expect(withoutPort(fault.message)).toBe(
    `MCP server remote: the connection was lost during tools/call${why.replace(':', '.')}`,
  );
  expect(connection.isOpen).toBe(false);
});

test('an SSE server behind a sign-in says so, though it knows nothing of Streamable HTTP', async (t) => {
  const { open } = await remote(
    t,
    ({ method }, response) => void response.writeHead(method === 'GET' ? 401 : 405).end(),
  );
  expect((await faultOf(open())).message).toBe('MCP server remote: it requires a sign-in (HTTP 401)');
});

test.for([
  ['http', 'Authorization'],
  ['sse', 'Authorization'],
  ['http', 'X-Api'],
  ['sse', 'PRIVATE_ACCESS'],
])('no credential is sent in the clear to another machine, over %s', async ([type = '', name = ''], t) => {
  const { context } = surroundings(t);
  const entry = { url: 'http://192.0.2.1/mcp', type, headers: { [name]: 'Bearer secret-secret' } };
  const fault = await faultOf(connectServer(server(entry, 'remote'), context, signal));
  expect([fault.message, fault.hint]).toEqual([
    `MCP server remote: its header ${name} is not sent in the clear to 192.0.2.1`,
    'Use an https address, or one on this machine, such as the end of an ssh tunnel (http://127.0.0.1:…); or remove the header.',
  ]);
});

test('a server that breaks down at the newest greeting gets the old one, and from then on only that', async (t) => {
  const serve = streamable('json');
  const { open, received } = await remote(t, (request, response) =>
    request.body.includes('server/discover') ? void response.writeHead(500).end('oops') : serve(request, response),
  );
  for (let time = 0; time < 2; time += 1)
    expect(await (await open()).callTool('echo', { message: 'hi' })).toEqual(echoed);
  expect(received.filter(({ body }) => body.includes('server/discover'))).toHaveLength(1);
});

test('a server that fails at every handshake is asked twice, and its message is shown', async (t) => {
  const { open, received } = await remote(t, (_, response) => void response.writeHead(503).end('closed today'));
  expect((await faultOf(open())).message).toBe('MCP server remote: it answered HTTP 503: closed today');
  expect(received).toHaveLength(2);
});
