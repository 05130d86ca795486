import { expect, test, vi } from 'vitest';
import { AppError } from '../../../../src/core/error.ts';
import type { JsonObject } from '../../../../src/core/json.ts';
import { connectServer } from '../../../../src/mcp/client/connect.ts';
import { systemClock } from '../../../../src/platform/runtime/clock.ts';
import { isWindows } from '../../../support/posix.ts';
import { connected, faultOf, fixture, goodServer, server, surroundings } from '../support.ts';

test('a server is greeted, and says who it is', async (t) => {
  const { connection } = await connected(t);
  expect({ ...connection, serverInfo: connection.serverInfo }).toMatchObject({
    name: 'fixture',
    serverInfo: { name: 'fixture', version: '1.2.3' },
    protocolVersion: '2025-11-25',
    instructions: 'Use echo.',
    capabilities: { tools: true, prompts: true, resources: true },
    isOpen: true,
  });
  await connection.listTools();
});

test('all pages of a list are followed', async (t) => {
  const { connection, messages } = await connected(t);
  const { items, omitted } = await connection.listTools();
  expect(items.map(({ name }) => name).slice(0, 3)).toEqual(['echo', 'add', 'environment']);
  expect(items).toHaveLength(14);
  expect(omitted).toBeUndefined();
  expect(messages().filter(({ method }) => method === 'tools/list')).toHaveLength(3);
});

test('prompts and resources are listed, filled in and read', async (t) => {
  const { connection } = await connected(t);
  expect(await connection.listPrompts()).toEqual({
    items: [{ name: 'greet', description: 'Greets.', arguments: [{ name: 'who', description: '', isRequired: true }] }],
  });
  expect(await connection.getPrompt('greet', { who: 'you' })).toEqual({
    description: '',
    messages: [{ role: 'user', content: { type: 'text', text: 'Hello you' } }],
  });
  expect(await connection.listResources()).toEqual({
    items: [{ uri: 'memo://1', name: 'first', description: '', mimeType: 'text/plain' }],
  });
  expect(await connection.listResourceTemplates()).toEqual({
    items: [{ uriTemplate: 'memo://{id}', name: 'memo', description: '' }],
  });
  expect(await connection.readResource('memo://1')).toEqual([
    { uri: 'memo://1', mimeType: 'text/plain', text: 'kept text' },
  ]);
});

test('what a tool gives is kept piece by piece, and pieces nobody knows are left out', async (t) => {
  const { connection } = await connected(t);
  const { content, structuredContent, isError } = await connection.callTool('mixed', {});
  expect(content.map(({ type }) => type)).toEqual(['text', 'image', 'audio', 'resource_link', 'resource', 'resource']);
  expect({ structuredContent, isError }).toEqual({ structuredContent: { answer: 42 }, isError: false });
});

test('a tool that fails is a result, one that is refused an error with the server’s words', async (t) => {
  const { connection } = await connected(t);
  expect(await connection.callTool('fail', {})).toEqual({
    content: [{ type: 'text', text: 'it did not work' }],
    isError: true,
  });
  expect((await faultOf(connection.callTool('refuse', {}))).message).toBe(
    'MCP server fixture: tools/call was refused: no such thing',
  );
});

test('progress is reported, and restarts the timeout', async (t) => {
  const { connection } = await connected(t);
  const seen: (string | undefined)[] = [];
  const result = await connection.callTool(
    'steps',
    { count: 6 },
    { timeoutMs: 250, onProgress: ({ message }) => seen.push(message) },
  );
  expect(result.content).toEqual([{ type: 'text', text: 'all steps' }]);
  expect(seen).toEqual(['step 1', 'step 2', 'step 3', 'step 4', 'step 5', 'step 6']);
});

test('a call that is aborted reaches the server as a cancellation', async (t) => {
  const { connection, messages } = await connected(t);
  const abort = new AbortController();
  const call = connection.callTool('wait', {}, { signal: abort.signal });
  await vi.waitFor(() => expect(messages().at(-1)).toMatchObject({ method: 'tools/call' }));
  const reason = new AppError('interrupted', 'Interrupted.');
  abort.abort(reason);
  expect(await faultOf(call)).toBe(reason);
  await vi.waitFor(() => expect(messages().at(-1)).toMatchObject({ method: 'notifications/cancelled' }));
  expect((await connection.callTool('add', { a: 2, b: 3 })).content).toEqual([{ type: 'text', text: '5' }]);
});

test('a call that is not answered in time fails, and is cancelled', async (t) => {
  const { connection, messages } = await connected(t, { timeout: 5000 });
  const fault = await faultOf(connection.callTool('wait', {}, { timeoutMs: 200 }));
  expect(fault.message).toBe('MCP server fixture: no answer to tools/call within 200 ms');
  expect(fault.fault).toBe('mcp');
  await vi.waitFor(() => expect(messages().at(-1)).toMatchObject({ method: 'notifications/cancelled' }));
});

test('a server that dies in the middle of a call fails it with its last words', async (t) => {
  const { connection } = await connected(t);
  expect((await faultOf(connection.callTool('die', {}))).message).toBe(
    'MCP server fixture: the connection was lost during tools/call. It ended with exit code 3. It said: fatal: the disk is gone',
  );
  expect(connection.isOpen).toBe(false);
  expect((await faultOf(connection.callTool('echo', { message: 'x' }))).message).toContain('It ended with exit code 3');
});

test('a changed list is reported', async (t) => {
  const { connection } = await connected(t);
  const changed: string[] = [];
  const stop = connection.onListChanged((kind) => changed.push(kind));
  await connection.callTool('grow', {});
  await vi.waitFor(() => expect(changed).toEqual(['tools']), { timeout: 4000 });
  expect((await connection.listTools()).items.map(({ name }) => name)).toContain('grown');
  stop();
});

test('a server gets a small environment, its own variables, and its arguments word for word', async (t) => {
  const secrets = {
    GEMINI_API_KEY: 'k',
    AWS_SECRET_ACCESS_KEY: 'k',
    NODE_OPTIONS: '--no-warnings',
    LC_ALL: 'C',
    LANG: '() { :; }',
  };
  const around = surroundings(t);
  const named = goodServer({ env: { OWN: 'mine' } });
  const args = ['; touch marker', '$(touch marker)', '$GEMINI_API_KEY'];
  const definition = {
    ...named.definition,
    args: [...('args' in named.definition ? named.definition.args : []), ...args],
  };
  const context = { ...around.context, env: { ...around.context.env, USER: 'me', ...secrets } };
  const connection = await connectServer(
    { name: 'fixture', definition: definition as typeof named.definition },
    context,
    new AbortController().signal,
  );
  t.onTestFinished(() => connection.close());
  const shown = async (tool: string) => {
    const [block] = (await connection.callTool(tool, {})).content;
    return JSON.parse(block?.type === 'text' ? block.text : '');
  };
  const given = Object.keys(await shown('environment')).filter(
    (name) => !isWindows || name in context.env || name === 'OWN' || name === 'Path',
  );
  expect(given.map((name) => name.toUpperCase()).sort()).toEqual(['HOME', 'LC_ALL', 'OWN', 'PATH', 'TMPDIR', 'USER']);
  expect(await shown('arguments')).toEqual({ args, cwd: around.context.cwd });
});

test('roots are declared only if there are some, elicitation only if somebody can answer, sampling never', async (t) => {
  const plain = await connected(t);
  const callTool = async (tool: string, { connection }: typeof plain) => {
    const [block] = (await connection.callTool(tool, {})).content;
    return JSON.parse(block?.type === 'text' ? block.text : '');
  };
  expect(await callTool('roots', plain)).toEqual({ code: -32601 });
  expect(await callTool('sample', plain)).toEqual({ code: -32601 });
  expect(await callTool('ask', plain)).toEqual({ code: -32601 });
  const rich = await connected(
    t,
    {},
    {
      roots: ['/a b/c#d', 'C:\\my dir\\x'],
      elicit: async ({ server: from, message }) => ({ action: 'accept', content: { name: `${from}: ${message}` } }),
    },
  );
  expect(await callTool('roots', rich)).toEqual({
    roots: [{ uri: 'file:///a%20b/c%23d' }, { uri: 'file:///C:/my%20dir/x' }],
  });
  expect(await callTool('ask', rich)).toEqual({ action: 'accept', content: { name: 'fixture: Your name?' } });
  expect(await callTool('sample', rich)).toEqual({ code: -32601 });
});

const STARTS: readonly (readonly [JsonObject, string])[] = [
  [{ command: './no-such-program' }, 'There is no program ./no-such-program'],
  [{ command: '/' }, isWindows ? 'There is no program /' : 'The program / may not be run'],
  [
    { command: process.execPath, cwd: '/no/such/place' },
    `There is no program ${process.execPath}, or no directory /no/such/place`,
  ],
  [{ command: process.execPath, args: ['-e', 'process.exit(7)'] }, 'It ended with exit code 7'],
  [
    { command: process.execPath, args: ['-e', 'process.kill(process.pid, "SIGKILL")'] },
    isWindows ? 'It ended with exit code 1' : 'It was ended by SIGKILL',
  ],
];

test.for(STARTS)('what cannot be started says why: %j', async ([entry, why], t) => {
  const around = surroundings(t);
  const fault = await faultOf(connectServer(server(entry), around.context, new AbortController().signal));
  expect(fault.message).toBe(`MCP server fixture: the connection was lost during initialize. ${why}`);
});

const COMPLAINTS: readonly (readonly [script: string, said: string])[] = [
  ['require("/no/such/module.js")', "Error: Cannot find module '/no/such/module.js'"],
  [`console.error("  TypeError: x\\n" + "    at y (z:1)\\n".repeat(20000)); process.exitCode = 1`, 'TypeError: x'],
  [
    'for (let n = 1; n <= 20; n++) console.error("  line " + n); process.exitCode = 1',
    'line 1 / line 2 / line 3 / … / line 16 / line 17 / line 18 / line 19 / line 20',
  ],
];

test.for(COMPLAINTS)('of what a program says the cause is kept: %s', async ([script, said], t) => {
  const entry = { command: process.execPath, args: ['-e', script] };
  const fault = await faultOf(connectServer(server(entry), surroundings(t).context, new AbortController().signal));
  expect([fault.message, fault.hint]).toEqual([
    `MCP server fixture: the connection was lost during initialize. It ended with exit code 1. It said: ${said}`,
    'See its definition: gmn mcp get fixture',
  ]);
});

test('an abort while connecting ends with its reason, and leaves nothing running', async (t) => {
  const { context, root } = surroundings(t);
  const abort = new AbortController();
  const reason = new AppError('interrupted', 'Interrupted.');
  const silent = server({ command: process.execPath, args: ['-e', 'setInterval(() => {}, 1000)', root] });
  const connecting = connectServer(silent, context, abort.signal);
  setImmediate(() => abort.abort(reason));
  expect(await faultOf(connecting)).toBe(reason);
});

test('the time a person takes to answer a server is not the time of the call', async (t) => {
  const elicit = async () => {
    await systemClock.sleep(2500, new AbortController().signal);
    return { action: 'decline' } as const;
  };
  const { connection } = await connected(t, {}, { elicit });
  expect((await connection.callTool('ask', {}, { timeoutMs: 1500 })).content).toEqual([
    { type: 'text', text: '{"action":"decline"}' },
  ]);
  expect((await faultOf(connection.callTool('wait', {}, { timeoutMs: 300 }))).message).toContain(
    'no answer to tools/call within 300 ms',
  );
});

test('what an argument of a prompt could be is asked of a server that can tell, and of no other', async (t) => {
  const { connection } = await connected(t);
  const asked = { prompt: 'greet', argument: { name: 'who', value: 'An' }, given: { how: 'loudly' } };
  expect(await connection.completePrompt(asked)).toEqual(['Ann Lee', 'Anton', 'how']);
  const plain = await connectServer(
    server({ command: process.execPath, args: [fixture('hostile-mcp-server.mjs')] }),
    surroundings(t).context,
    new AbortController().signal,
  );
  t.onTestFinished(() => plain.close());
  expect(await plain.completePrompt(asked)).toEqual([]);
});
