import { expect, test } from 'vitest';
import { fakeGemini } from '../../../support/gemini.ts';
import { echo, sdkClient, serve, serveRaw, startServing, TOOL_COUNT } from '../support.ts';

const CAPABILITIES = { tools: {}, resources: {}, prompts: {} };

test('initialize without params is answered with the oldest protocol version', async (t) => {
  const server = serveRaw(t, { flags: ['--server-name', 'mcp-server-gemini-enhanced', '--server-version', '5.0.0'] });
  server.send('{"jsonrpc": "2.0", "id": 1, "method": "initialize"}\n');
  expect(await server.line(({ id }) => id === 1)).toEqual({
    jsonrpc: '2.0',
    id: 1,
    result: {
      protocolVersion: '2024-11-05',
      serverInfo: { name: 'mcp-server-gemini-enhanced', version: '5.0.0' },
      capabilities: CAPABILITIES,
      instructions: expect.stringContaining('delegate'),
    },
  });
  expect(await server.end()).toBe(0);
  expect(server.stderr()).toBe('');
});

test.for(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])(
  'revision %s is spoken',
  async (protocolVersion, t) => {
    const server = serveRaw(t);
    const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } };
    expect((await server.ask('initialize', params)).result.protocolVersion).toBe(protocolVersion);
    server.notify('notifications/initialized');
    expect((await server.ask('tools/list')).result.tools).toHaveLength(TOOL_COUNT);
  },
);

test('an unknown protocol version is answered with the newest supported one', async (t) => {
  const server = serveRaw(t);
  const params = { protocolVersion: '1999-01-01', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
  expect((await server.ask('initialize', params)).result.protocolVersion).toBe('2025-11-25');
});

test.for(['legacy', 'auto'] as const)('the SDK’s client gets its answer in %s mode', async (mode, t) => {
  const gemini = await fakeGemini(t, [echo]);
  const { client } = await sdkClient(t, { gemini, mode });
  expect(client.getServerVersion()).toMatchObject({ name: 'gmn' });
  const { content } = await client.callTool({ name: 'generate_text', arguments: { prompt: 'Hello' } });
  expect(content).toEqual([{ type: 'text', text: 'echo: Hello' }]);
});

test('the handshake answers exactly as the SDK does', async (t) => {
  const server = await serve(t);
  server.notify('notifications/initialized');
  const methods = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list', 'ping'];
  const ask = async () => {
    const results: unknown[] = [];
    for (const method of methods) results.push((await server.ask(method)).result);
    return results;
  };
  const before = await ask();
  // Only the SDK answers this, and from then on everything else.
  expect((await server.ask('no/such/method')).error.code).toBe(-32601);
  expect(await ask()).toEqual(before);
});

test.for(['2024-10-07', '2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2031-01-01'])(
  'initialize for %s is answered as the SDK would',
  async (protocolVersion, t) => {
    const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } };
    const quick = await serveRaw(t).ask('initialize', params);
    // With anything in `_meta` the SDK takes over at once.
    const sdk = await serveRaw(t).ask('initialize', { ...params, _meta: { 'example/x': 1 } });
    expect(quick).toEqual(sdk);
  },
);

test('ping is answered', async (t) => {
  const server = await serve(t);
  expect(await server.ask('ping')).toEqual({ jsonrpc: '2.0', id: 2, result: {} });
});

test('protocol errors have the codes of JSON-RPC, and the server keeps running', async (t) => {
  const server = await serve(t);
  const code = async (method: string, params?: object) => (await server.ask(method, params)).error?.code;
  expect(await code('no/such/method')).toBe(-32601);
  expect(await code('tools/call', { name: 'no_such_tool', arguments: {} })).toBe(-32602);
  expect(await code('tools/call', {})).toBe(-32602);
  expect(await code('resources/read', { uri: 'gmn://nothing' })).toBe(-32602);
  expect(await code('prompts/get', { name: 'nothing' })).toBe(-32602);
  expect(await code('prompts/get', { name: 'explain' })).toBe(-32602);
  server.send('this is no JSON\n');
  const parse = await server.line(({ error }) => error?.code === -32700);
  expect(parse).toEqual({
    jsonrpc: '2.0',
    id: null,
    error: { code: -32700, message: 'Parse error: this is not JSON' },
  });
  expect((await server.ask('ping')).result).toEqual({});
});

const INVALID = [
  ['[]', null],
  ['[{"jsonrpc":"2.0","id":1,"method":"ping"}]', null],
  ['7', null],
  ['null', null],
  ['{"id":71,"method":"ping"}', 71],
  ['{"jsonrpc":"1.0","id":72,"method":"ping"}', 72],
  ['{"jsonrpc":"2.0","id":73}', 73],
  ['{"jsonrpc":"2.0","id":74,"method":7}', 74],
  ['{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}', null],
  ['{"jsonrpc":"2.0","id":1.5,"method":"ping"}', null],
  ['{"jsonrpc":"2.0","id":null,"method":"ping"}', null],
] as const;

test('an invalid JSON-RPC message gets an error, and the server keeps running', async (t) => {
  const server = await serve(t);
  for (const [text, id] of INVALID) {
    const known = server.lines.length;
    server.send(`${text}\n`);
    const answer = await server.line((line) => server.lines.indexOf(line) >= known);
    expect([text, answer.id, answer.error.code]).toEqual([text, id, -32600]);
  }
  expect((await server.ask('ping')).result).toEqual({});
});

test('params that are no object are an error', async (t) => {
  const server = await serve(t);
  server.send('{"jsonrpc":"2.0","id":9,"method":"tools/list","params":[1]}\n');
  expect((await server.line(({ id }) => id === 9)).error.code).toBe(-32602);
});

const WRONG = [
  ['initialize', { protocolVersion: 5 }, 'protocolVersion must be a string'],
  ['initialize', { capabilities: [] }, 'capabilities must be an object'],
  ['initialize', { clientInfo: 'cursor' }, 'clientInfo must be an object'],
  ['tools/call', { name: 7 }, 'name must be a string'],
  ['tools/call', { name: 'chat', arguments: [] }, 'arguments must be an object'],
  ['tools/list', { cursor: 1 }, 'cursor must be a string'],
  ['resources/read', {}, 'uri must be a string'],
  [
    'prompts/get',
    { name: 'explain', arguments: { topic: 'x', audience: 5 } },
    'arguments must be an object of strings',
  ],
] as const;

test('params of the wrong type are an error of one line', async (t) => {
  for (const server of [serveRaw(t), await serve(t)]) {
    for (const [method, params, message] of WRONG) {
      expect((await server.ask(method, params)).error).toEqual({ code: -32602, message: `Invalid params: ${message}` });
    }
    expect((await server.ask('ping')).result).toEqual({});
  }
});

test('a client without a version is served', async (t) => {
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x' } };
  expect((await serveRaw(t).ask('initialize', params)).result.protocolVersion).toBe('2025-06-18');
});

test('any id is answered', async (t) => {
  const server = await serve(t);
  await server.call('get_help');
  for (const wanted of ['gmn-opening', '', 0]) {
    server.send(`${JSON.stringify({ jsonrpc: '2.0', id: wanted, method: 'ping' })}\n`);
    expect((await server.line(({ id }) => id === wanted)).result).toEqual({});
  }
});

test('a client that has closed its input still gets the responses that need no model', async (t) => {
  const last = [
    { method: 'tools/call', params: { name: 'list_models' } },
    { method: 'tools/call', params: { name: 'delegate_sessions' } },
    { method: 'resources/read', params: { uri: 'gmn://jobs' } },
  ];
  // To load their code may take longer than a server waits.
  const before = await serve(t);
  for (const { method, params } of last) await before.ask(method, params);
  await before.end();
  for (const message of last) {
    const server = serveRaw(t);
    const messages = [
      { id: 1, method: 'initialize' },
      { id: 2, ...message },
    ];
    server.send(messages.map((each) => JSON.stringify({ jsonrpc: '2.0', ...each })).join('\n'));
    expect(await server.end()).toBe(0);
    expect(server.lines.map(({ id, result }) => [id, typeof result])).toEqual([
      [1, 'object'],
      [2, 'object'],
    ]);
  }
});

test('a line longer than any message is refused, and the next one is read', async (t) => {
  const server = await serve(t);
  server.send(`{"jsonrpc":"2.0","id":9,"method":"ping","params":{"x":"${'x'.repeat(33_000_000)}"}}\n`);
  expect(await server.line(({ error }) => error?.code === -32600)).toMatchObject({ id: 9 });
  expect((await server.ask('ping')).result).toEqual({});
});

test('messages cut anywhere, with carriage returns and empty lines between them, are read', async (t) => {
  const server = await startServing(t);
  const bytes = Buffer.from('\r\n\n{"jsonrpc":"2.0","id":"é💡","method":"ping"}\r\n');
  for (const byte of bytes) {
    server.child.stdin.write(Buffer.from([byte]));
  }
  expect(await server.line(({ id }) => id === 'é💡')).toEqual({ jsonrpc: '2.0', id: 'é💡', result: {} });
});

test('requests before initialize, and a second initialize, do no harm', async (t) => {
  const server = serveRaw(t);
  expect((await server.ask('tools/list')).result.tools).toHaveLength(TOOL_COUNT);
  expect((await server.ask('initialize')).result.serverInfo.name).toBe('gmn');
  expect((await server.ask('initialize')).result ?? 'refused').toBeDefined();
  expect((await server.ask('tools/list')).result.tools).toHaveLength(TOOL_COUNT);
});

test('the end of stdin ends the process at once', async (t) => {
  const server = await serve(t);
  expect(await server.end()).toBe(0);
  const silent = serveRaw(t);
  expect(await silent.end()).toBe(0);
});

test('whatever a dependency prints, stdout is protocol only', async (t) => {
  const gemini = await fakeGemini(t, [echo]);
  const noise = `const net = require('node:net');
    const { connect } = net.Socket.prototype;
    net.Socket.prototype.connect = function (...input) {
      console.log('a dependency says something');
      console.info({ and: 'more' });
      process.stdout.write('without a newline');
      return connect.apply(this, input);
    };`;
  const env = { NODE_OPTIONS: '--trace-warnings --require ./noise.cjs', NODE_DEBUG: 'net' };
  const server = serveRaw(t, { gemini, files: { 'noise.cjs': noise }, env });
  await server.ask('initialize');
  expect((await server.call('generate_text', { prompt: 'Hi' })).content[0].text).toBe('echo: Hi');
  // Every line was parsed on its way here.
  expect(server.lines).toHaveLength(2);
  expect(server.stderr()).toContain('a dependency says something');
  expect(server.stderr()).toContain('without a newline');
});

test('a client that does not read its responses is not read from, and memory stays flat', async (t) => {
  const server = await startServing(t);
  server.child.stdout.pause();
  const line = `${JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/list' })}\n`;
  let taken = 0;
  // Pipes hold a little; after that the server must stop reading, or it would pile up responses.
  for (let sent = 0; sent < 20_000 && server.child.stdin.writableLength < 100_000; sent += 1) {
    server.child.stdin.write(line);
    taken += 1;
    if (sent % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  expect(taken).toBeLessThan(20_000);
  server.child.stdout.resume();
  expect((await server.ask('ping')).result).toEqual({});
});
