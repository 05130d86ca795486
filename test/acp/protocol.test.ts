import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isObject } from '../../src/core/json.ts';
import { fuzz } from '../support/fuzz.ts';
import { answerEach, call, events, failure, fakeGemini, finish, reply } from '../support/gemini.ts';
import { place } from '../support/gmn.ts';
import { openEditor, openRaw } from './support.ts';

const INITIALIZE = { jsonrpc: '2.0', id: 0, method: 'initialize', params: { protocolVersion: 1 } };

test('what is no message gets the errors of the protocol, and nothing is lost', async (t) => {
  const raw = await openRaw(t);
  raw.send('nonsense\n\n[]\n3\n{"jsonrpc":"1.0","id":1,"method":"x"}\n');
  raw.send({ jsonrpc: '2.0', id: 5, method: 'session/list', params: {} });
  raw.send(INITIALIZE);
  raw.send({ jsonrpc: '2.0', id: 6, method: 'no/such', params: {} });
  raw.send({ jsonrpc: '2.0', id: 7, method: 'session/new', params: { cwd: 3 } });
  raw.send({ jsonrpc: '2.0', id: 8, method: 'session/new', params: { cwd: 'relative', mcpServers: [] } });
  raw.send({ jsonrpc: '2.0', id: 9, method: 'session/prompt', params: { sessionId: 'x', prompt: [] } });
  raw.send({ jsonrpc: '2.0', id: 1.5, method: 'session/list' });
  raw.send({ jsonrpc: '2.0', method: 'session/cancel', params: { sessionId: 'x' } });
  raw.send(`{"jsonrpc":"2.0","id":10,"method":"x","params":{"deep":${'['.repeat(500)}${']'.repeat(500)}}}\n`);
  raw.send({ jsonrpc: '2.0', id: 11, method: 'authenticate', params: { methodId: 'none' } });
  raw.send({ jsonrpc: '2.0', id: 12, method: 'session/list', params: {} });
  const lines = await raw.end();
  const codes = lines.map(({ id, error, result }) => [id, error?.code ?? (result && 'ok')]);
  expect(codes).toHaveLength(14);
  expect(codes).toEqual(
    expect.arrayContaining([
      ...[
        [null, -32700],
        [null, -32600],
        [1, -32600],
        [5, -32600],
        [0, 'ok'],
        [6, -32601],
        [7, -32602],
      ],
      ...[
        [8, -32602],
        [9, -32002],
        [10, -32600],
        [11, -32602],
        [12, 'ok'],
      ],
    ]),
  );
});

test('a request that is too long is answered as what it is, and the next one is served', async (t) => {
  const raw = await openRaw(t);
  raw.send(INITIALIZE);
  const text = 'x'.repeat(32_000_000);
  raw.send(`{"jsonrpc":"2.0","id":4,"method":"session/prompt","params":{"sessionId":"x","prompt":"${text}"}}\n`);
  raw.send({ jsonrpc: '2.0', id: 6, method: 'session/list', params: {} });
  const lines = await raw.end();
  expect(lines.map(({ id, error }) => [id, error?.code])).toEqual([
    [0, undefined],
    [4, -32600],
    [6, undefined],
  ]);
});

const METHODS = [
  'new',
  'load',
  'resume',
  'list',
  'close',
  'delete',
  'set_mode',
  'set_config_option',
  'prompt',
  'cancel',
]
  .map((name) => `session/${name}`)
  .concat('initialize', 'authenticate', 'logout', '$/cancel_request', '_x');

test('whatever is sent, every line is of the protocol, every request has one answer, and the next one is served', async (t) => {
  const gemini = await fakeGemini(
    t,
    answerEach(() => 'x\ud800'),
  );
  const at = place(t, { gemini });
  const value = fc.jsonValue({ maxDepth: 3 });
  /** Often what the method takes, for the session that is open or another, too early or again. */
  const wild = <Given>(...usual: readonly Given[]) =>
    fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...usual) }, value);
  const params = fc.record(
    {
      sessionId: wild('OPEN', 'x'),
      cwd: wild(at.cwd, '/', 'relative'),
      mcpServers: wild([], [{ name: 'x', command: '/nothing', args: [], env: [] }]),
      prompt: wild([{ type: 'text', text: 'hi' }], [{ type: 'text', text: '/status' }], []),
      modeId: wild('plan', 'yolo'),
      configId: wild('mode', 'model', 'thinking'),
      value: wild('plan', 'gemini-2.5-pro', 'low'),
      requestId: wild(0, 1, 2),
    },
    { requiredKeys: [] },
  );
  const message = fc.record({
    jsonrpc: fc.oneof({ weight: 9, arbitrary: fc.constant('2.0') }, fc.constant('1.0')),
    method: fc.constantFrom(...METHODS),
    params: fc.oneof({ weight: 9, arbitrary: params }, value),
  });
  const line = fc.oneof({ weight: 4, arbitrary: message }, value, fc.string());
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 12 }), fc.boolean(), async (sent, isReady) => {
      const raw = await openRaw(t, { at, gemini });
      if (isReady) {
        raw.send(INITIALIZE);
        raw.send({ jsonrpc: '2.0', id: 'open', method: 'session/new', params: { cwd: at.cwd, mcpServers: [] } });
        await expect.poll(() => raw.lines.find(({ id }) => id === 'open'), { timeout: 10_000 }).toBeDefined();
      }
      const open = raw.lines.find(({ id }) => id === 'open')?.result?.sessionId ?? 'x';
      const isRequest = (each: unknown): each is object => isObject(each) && 'method' in each;
      const requests = sent.flatMap((each, index) => (isRequest(each) ? [index + 1] : []));
      for (const [index, each] of sent.entries()) {
        const text = JSON.stringify(isRequest(each) ? { id: index + 1, ...each } : each);
        raw.send(`${text.replaceAll('"OPEN"', JSON.stringify(open))}\n`);
      }
      raw.send({ jsonrpc: '2.0', id: 'last', method: 'session/list', params: {} });
      const listAnswered = () => raw.lines.flatMap(({ id, method }) => (method === undefined ? [id] : []));
      await expect.poll(listAnswered, { timeout: 10_000 }).toEqual(expect.arrayContaining([...requests, 'last']));
      await raw.end();
      const ids = listAnswered().filter((id) => requests.includes(id));
      expect(ids.sort((a, b) => a - b)).toEqual(requests);
    }),
    fuzz(25),
  );
});

test('halves of characters, and numbers of the model, reach no editor', async (t) => {
  const read = { file_path: 'a\ud800 \\ud800.txt', start_line: 2 ** 40 };
  const gemini = await fakeGemini(t, [reply(call('read_file', read)), reply('Done.')]);
  const editor = await openEditor(t, { gemini });
  const { sessionId } = await editor.begin();
  // Every line is checked on its way.
  expect(await editor.say(sessionId, 'read 日本 \udc00')).toBe('end_turn');
  const [, shown] = editor.updates.filter(({ sessionUpdate }) => sessionUpdate !== 'available_commands_update');
  expect(shown).toMatchObject({ rawInput: { file_path: 'a\ufffd \\ud800.txt', start_line: 2 ** 40 } });
  expect(shown).not.toHaveProperty('locations.0.line');
  expect(gemini.requests[0]?.prompt).toBe('read 日本 \ufffd');
});

test('no credential is the protocol’s own error, and authenticate says what to do', async (t) => {
  const editor = await openEditor(t);
  await expect(editor.begin()).rejects.toMatchObject({ code: -32000 });
  await expect(editor.agent.request('authenticate', { methodId: 'found' })).rejects.toMatchObject({
    code: -32000,
    data: { type: 'AuthError' },
  });
  const terminal = await openEditor(t, { capabilities: { auth: { terminal: true } } });
  const [opened] = terminal.lines;
  expect(opened.result.authMethods[0]).toMatchObject({ type: 'terminal', args: ['auth', 'set-key'] });
  const signedIn = await openEditor(t, { script: [], capabilities: { auth: { terminal: true } } });
  for (const methodId of ['set-key', 'found']) {
    expect(await signedIn.agent.request('authenticate', { methodId })).toEqual({});
  }
});

test.for([
  ['a limit', events([finish('MAX_TOKENS', [{ text: 'Half' }])]), 'max_tokens'],
  ['a filter', events([finish('SAFETY')]), 'refusal'],
] as const)('how a turn ends: %s', async ([, script, stop], t) => {
  const editor = await openEditor(t, { script: [script] });
  expect(await editor.say((await editor.begin()).sessionId, 'x')).toBe(stop);
});

test('a failure of the service is an error with its message, and the session goes on', async (t) => {
  const gemini = await fakeGemini(t, [failure(400, 'INVALID_ARGUMENT', 'bad thing'), reply('Fine.')]);
  const editor = await openEditor(t, { gemini });
  const { sessionId } = await editor.begin();
  await expect(editor.say(sessionId, 'x')).rejects.toMatchObject({
    code: -32603,
    message: expect.stringContaining('bad thing'),
    data: { code: 3, type: 'ApiError' },
  });
  expect(await editor.say(sessionId, 'y')).toBe('end_turn');
});

test('mode, model and thinking are chosen as modes or options; what is not offered is refused', async (t) => {
  const gemini = await fakeGemini(t, [reply('x')]);
  const editor = await openEditor(t, { gemini });
  const { sessionId } = await editor.begin();
  const choose = (configId: string, value: string) =>
    editor.agent.request('session/set_config_option', { sessionId, configId, value });
  await editor.agent.request('session/set_mode', { sessionId, modeId: 'plan' });
  const { configOptions } = await choose('model', 'gemini-2.5-pro');
  expect(configOptions).toMatchObject([
    { currentValue: 'plan' },
    { currentValue: 'gemini-2.5-pro' },
    { id: 'thinking' },
  ]);
  await choose('thinking', 'low');
  await editor.say(sessionId, 'x');
  expect(gemini.requests[0]).toMatchObject({
    path: expect.stringContaining('gemini-2.5-pro'),
    body: { generationConfig: { thinkingConfig: { thinkingBudget: 1024, includeThoughts: true } } },
  });
  expect(gemini.requests[0]?.tools).not.toContain('edit_file');
  for (const [option, value] of [
    ['mode', 'yolo'],
    ['thinking', 'x'],
    ['model', 'no such model'],
    ['x', 'y'],
  ] as const) {
    await expect(choose(option, value)).rejects.toMatchObject({ code: -32602 });
  }
  await choose('model', 'gemini-9');
  await editor.say(sessionId, '/status');
  const notices = editor.updates.filter(({ sessionUpdate }) => sessionUpdate === 'agent_thought_chunk');
  expect(JSON.stringify(notices)).toContain('unknown model');
  const wild = await openEditor(t, { gemini, options: { yolo: true } });
  const { modes } = await wild.begin();
  expect(modes).toMatchObject({ currentModeId: 'yolo' });
  expect(modes?.availableModes).toHaveLength(4);
});
