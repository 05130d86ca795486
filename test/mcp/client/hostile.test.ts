import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import type { JsonObject } from '../../../src/core/json.ts';
import { connectServer } from '../../../src/mcp/client/connect.ts';
import { posixTest } from '../../support/posix.ts';
import { eventPair, httpPeer } from './http-peer.ts';
import { faultOf, fixture, server, surroundings } from './support.ts';

const signal = new AbortController().signal;

function hostile(t: TestContext, manner: string, entry: JsonObject = {}) {
  const { context, root } = surroundings(t);
  const pids = join(root, 'pids');
  const named = server(
    {
      command: process.execPath,
      args: [fixture('hostile-mcp-server.mjs'), manner],
      env: { GMN_TEST_PIDS: pids, TOKEN: 'hunter2hunter2' },
      ...entry,
    },
    'hostile',
  );
  const open = async () => {
    const connection = await connectServer(named, context, signal);
    t.onTestFinished(() => connection.close());
    return connection;
  };
  const started = (): readonly number[] =>
    existsSync(pids) ? readFileSync(pids, 'utf8').trim().split('\n').map(Number) : [];
  return { open, started };
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0) && !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

const spoken = { content: [{ type: 'text', text: 'spoken ' }], isError: false };

test.for(['noise', 'bytes', 'stderr-flood', 'ids', 'modern'])(
  'a server with the manner %s is understood all the same',
  async (manner, t) => {
    const connection = await hostile(t, manner).open();
    expect((await connection.listTools()).items.map(({ name }) => name)).toEqual(['speak']);
    expect(await connection.callTool('speak', {})).toEqual(spoken);
    expect(await connection.callTool('speak', { n: 2 })).toMatchObject({ content: [{ text: 'spoken 2' }] });
  },
);

test.for([
  ['silent', 'no answer to initialize within 2 s'],
  ['deaf', 'no answer to initialize within 2 s'],
  ['bad-json', 'no answer to initialize within 2 s. It said: {"jsonrpc": "2.0", "id": 0, "result":'],
  [
    'stdout-flood',
    'gmn disconnected during initialize: 10000 lines of its output were not messages. It said: all work',
  ],
  ['old-version', 'protocol version is not supported: 1999-01-01'],
  ['complain', 'the connection was lost during initialize. It ended with exit code 2. It said: '],
])('a server with the manner %s ends in words, and in no process', async ([manner = '', words = ''], t) => {
  const { open, started } = hostile(t, manner, { timeout: 2000 });
  const fault = await faultOf(open());
  expect(fault.fault).toBe('mcp');
  expect(fault.message).toContain(words);
  expect(fault.message).toMatch(/^MCP server hostile: [\x20-\x7e…‹›]*$/);
  expect(fault.message).not.toContain('hunter2');
  expect(started().filter(isRunning)).toEqual([]);
});

test.for([
  ['endless', 64, 'only the first 64 pages of tools are used'],
  ['circle', 2, 'the list of tools repeats without end'],
  ['many', 2000, 'only the first 2000 tools are used'],
] as const)('a list that is %s is cut, and says so', async ([manner, count, omitted], t) => {
  const listing = await (await hostile(t, manner).open()).listTools();
  expect(listing.items).toHaveLength(count);
  expect(listing.omitted).toBe(omitted);
});

test('odd items of a list cost only themselves', async (t) => {
  const { items, omitted } = await (await hostile(t, 'odd').open()).listTools();
  expect(items.map(({ name, inputSchema }) => [name, inputSchema])).toEqual([
    ['bare', {}],
    ['good', { type: 'object' }],
  ]);
  expect(omitted).toBe(
    'one without a name, one without a name, one without a name and 2 more skipped: gmn cannot read how the server describes it',
  );
});

test('a line longer than gmn takes ends the connection', async (t) => {
  const connection = await hostile(t, 'huge').open();
  const fault = await faultOf(connection.callTool('speak', {}));
  expect(fault.message).toBe(
    'MCP server hostile: gmn disconnected during tools/call: it sent a line of more than 16.0 MB',
  );
});

test('a flood of responses to no request ends the connection', async (t) => {
  const connection = await hostile(t, 'id-storm').open();
  expect((await faultOf(connection.callTool('speak', {}))).message).toBe(
    'MCP server hostile: gmn disconnected during tools/call: 100 of its messages were answers to nothing, or none at all',
  );
});

test('an answer that is not a tool result is a failure, in the words of gmn', async (t) => {
  const connection = await hostile(t, 'no-result').open();
  expect((await faultOf(connection.callTool('speak', {}))).message).toBe(
    'MCP server hostile: its answer to tools/call is not a tool result',
  );
});

test('the JSON of a validator becomes plain text', async (t) => {
  const connection = await hostile(t, 'zod').open();
  expect((await faultOf(connection.callTool('speak', {}))).message).toBe(
    'MCP server hostile: tools/call was refused: Invalid arguments: a.0: Required; Too much',
  );
});

posixTest('a server that ignores every request to end is killed with its children', async (t) => {
  const { open, started } = hostile(t, 'stubborn');
  const connection = await open();
  await connection.listTools();
  expect(started().filter(isRunning)).toHaveLength(2);
  await connection.close();
  expect(started().filter(isRunning)).toEqual([]);
});

test('twenty servers at once all answer, and none is left', async (t) => {
  const all = Array.from({ length: 20 }, () => hostile(t, 'plain'));
  const connections = await Promise.all(all.map(({ open }) => open()));
  const results = await Promise.all(connections.map((connection, n) => connection.callTool('speak', { n })));
  expect(results.map(({ content }) => content[0])).toEqual(all.map((_, n) => ({ type: 'text', text: `spoken ${n}` })));
  await Promise.all(connections.map((connection) => connection.close()));
  expect(all.flatMap(({ started }) => started()).filter(isRunning)).toEqual([]);
});

test('an answer over HTTP larger than gmn takes fails its call', async (t) => {
  const big = JSON.stringify({ jsonrpc: '2.0', id: 1, result: 'x'.repeat(17_000_000) });
  const { url } = await httpPeer(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(big);
  });
  const fault = await faultOf(connectServer(server({ httpUrl: url }, 'big'), surroundings(t).context, signal));
  expect(fault.message).toBe('MCP server big: it sent more than 16.0 MB at once, more than gmn accepts');
});

test('an event over SSE larger than gmn takes ends the connection', async (t) => {
  const pair = eventPair();
  const { url } = await httpPeer(t, (request, response) => {
    void pair(request, response);
    if (request.method === 'GET') response.write(`data: ${'x'.repeat(17_000_000)}`);
  });
  const entry = { url, type: 'sse', timeout: 1500 };
  const fault = await faultOf(
    connectServer(server(entry, 'big'), surroundings(t).context, signal).then(async (connection) => {
      t.onTestFinished(() => connection.close());
      await connection.callTool('echo', { message: 'hi' });
    }),
  );
  expect(fault.fault).toBe('mcp');
});
