import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ClientApp, ContentBlock } from '@agentclientprotocol/sdk';
import { expect, test } from 'vitest';
import { gate as createGate } from '../support/gate.ts';
import { call, fakeGemini, reply } from '../support/gemini.ts';
import { openEditor } from './support.ts';

const FILES = { fs: { readTextFile: true, writeTextFile: true } } as const;
const EDIT = { file_path: 'a.txt', old_string: 'typed', new_string: 'changed' };

/** An editor with unsaved text; it saves what is written. */
function withBuffers(texts: Map<string, string>) {
  return (app: ClientApp): ClientApp =>
    app
      .onRequest('fs/read_text_file', ({ params }) => {
        const content = texts.get(params.path);
        if (content === undefined) throw new Error('not open');
        return { content };
      })
      .onRequest('fs/write_text_file', ({ params }) => {
        texts.set(params.path, params.content);
        writeFileSync(params.path, params.content);
        return {};
      });
}

test('tools read what is not saved yet and write through the editor; undo puts the unsaved text back', async (t) => {
  const texts = new Map<string, string>();
  const gemini = await fakeGemini(t, [
    reply(call('read_file', { file_path: 'a.txt' }), call('read_file', { file_path: 'b.txt' })),
    reply(call('edit_file', EDIT), call('write_file', { file_path: 'new/c.txt', content: 'new\n' })),
    reply('Done.'),
  ]);
  const editor = await openEditor(t, {
    ...{ gemini, capabilities: FILES, extend: withBuffers(texts), answer: () => 'once' },
    files: { 'a.txt': 'saved\r\n', 'b.txt': 'on disk\n' },
  });
  const [path, made] = ['a.txt', 'new/c.txt'].map((name) => join(editor.at.cwd, name)) as [string, string];
  texts.set(path, 'typed\nmore\n');
  const { sessionId } = await editor.begin();
  await editor.say(sessionId, 'edit');
  expect(gemini.requests[1]?.results).toMatchObject([{ output: 'typed\nmore' }, { output: 'on disk' }]);
  expect(texts.get(path)).toBe('changed\r\nmore\r\n');
  expect(texts.get(made)).toBe('new\n');
  await editor.say(sessionId, '/undo');
  expect(texts.get(path)).toBe('typed\r\nmore\r\n');
  expect(() => readFileSync(made)).toThrow('ENOENT');
});

test('the editor does not lift the fence: what is outside, protected or secret is not asked of it', async (t) => {
  const asked: string[] = [];
  const gemini = await fakeGemini(t, [
    reply(
      call('read_file', { file_path: '../home/x' }),
      call('read_file', { file_path: '.env' }),
      call('write_file', { file_path: '.git/hooks/pre-commit', content: 'x' }),
    ),
    reply('No.'),
  ]);
  const extend = (app: ClientApp) =>
    app
      .onRequest('fs/read_text_file', ({ params }) => {
        asked.push(params.path);
        return { content: 'secret' };
      })
      .onRequest('fs/write_text_file', ({ params }) => void asked.push(params.path));
  const files = { '.env': 'KEY=1\n', '.git/HEAD': 'x' };
  const editor = await openEditor(t, { gemini, capabilities: FILES, extend, files, answer: () => 'no' });
  await editor.say((await editor.begin()).sessionId, 'try');
  expect(asked).toEqual([]);
  expect(editor.asked.map(({ toolCall }) => toolCall.title)).toEqual(['read_file .env']);
  expect(JSON.stringify(gemini.requests[1]?.results)).not.toContain('secret"');
});

test('an editor that refuses to write is not passed over', async (t) => {
  const gemini = await fakeGemini(t, [reply(call('write_file', { file_path: 'x.txt', content: 'x' })), reply('Oh.')]);
  const extend = (app: ClientApp) =>
    app.onRequest('fs/write_text_file', () => {
      throw new Error('read-only');
    });
  const editor = await openEditor(t, {
    gemini,
    capabilities: { fs: { writeTextFile: true } },
    extend,
    answer: () => 'once',
  });
  await editor.say((await editor.begin()).sessionId, 'write');
  expect(JSON.stringify(gemini.requests[1]?.results)).toContain('the editor did not write it');
  expect(() => readFileSync(join(editor.at.cwd, 'x.txt'))).toThrow('ENOENT');
});

interface FakeTerminal {
  readonly command: string;
  readonly args: readonly string[];
  readonly names: readonly string[];
  end(): void;
}

/** Terminals in which commands end when the test says so, or are killed. */
function withTerminals(terminals: FakeTerminal[], log: string[]) {
  return (app: ClientApp): ClientApp => {
    const ends: Promise<void>[] = [];
    const stops: (() => void)[] = [];
    return app
      .onRequest('terminal/create', ({ params }) => {
        const id = ends.length;
        ends.push(new Promise((resolve) => stops.push(resolve)));
        const names = (params.env ?? []).filter(({ value }) => value !== '').map(({ name }) => name);
        terminals.push({ command: params.command, args: params.args ?? [], names, end: () => stops[id]?.() });
        return { terminalId: String(id) };
      })
      .onRequest('terminal/wait_for_exit', async ({ params }) => {
        await ends[Number(params.terminalId)];
        return { exitCode: 3 };
      })
      .onRequest('terminal/output', () => ({ output: 'printed\n', truncated: false }))
      .onRequest('terminal/kill', ({ params }) => {
        log.push('kill');
        stops[Number(params.terminalId)]?.();
      })
      .onRequest('terminal/release', () => void log.push('release'));
  };
}

const COMMAND = reply(call('run_shell_command', { command: 'make it' }));

test('a command runs in a terminal of the editor, which is shown with its call', async (t) => {
  const terminals: FakeTerminal[] = [];
  const log: string[] = [];
  const gemini = await fakeGemini(t, [COMMAND, reply('Done.')]);
  const editor = await openEditor(t, {
    ...{ gemini, capabilities: { terminal: true }, extend: withTerminals(terminals, log), answer: () => 'once' },
    env: { MY_API_KEY: 'x', SHELL: '/bin/sh' },
  });
  const { sessionId } = await editor.begin();
  const prompt = editor.say(sessionId, 'run');
  await expect.poll(() => terminals.length).toBe(1);
  terminals[0]?.end();
  expect(await prompt).toBe('end_turn');
  expect(terminals).toMatchObject([{ command: '/bin/sh', args: ['-c', 'make it'] }]);
  expect(terminals[0]?.names).not.toContain('MY_API_KEY');
  expect(gemini.requests[1]?.results).toMatchObject([{ output: 'printed\n', exit_code: 3 }]);
  const content = [{ type: 'terminal', terminalId: '0' }];
  const updates = editor.updates.filter(({ sessionUpdate }) => sessionUpdate === 'tool_call_update');
  expect(updates).toMatchObject([{ status: 'in_progress' }, { content }, { status: 'failed', content }]);
  expect(editor.asked[0]?.toolCall).toMatchObject({ kind: 'execute', title: 'make it' });
  expect(log).toEqual(['release']);
});

test('cancel while a command runs kills it, and the session goes on', async (t) => {
  const terminals: FakeTerminal[] = [];
  const log: string[] = [];
  const editor = await openEditor(t, {
    ...{ script: [COMMAND, reply('On.')], capabilities: { terminal: true }, answer: () => 'once' },
    extend: withTerminals(terminals, log),
  });
  const { sessionId } = await editor.begin();
  const prompt = editor.say(sessionId, 'run');
  await expect.poll(() => terminals.length).toBe(1);
  await expect(editor.say(sessionId, 'meanwhile')).rejects.toMatchObject({ code: -32602 });
  await editor.agent.notify('session/cancel', { sessionId });
  expect(await prompt).toBe('cancelled');
  expect(log).toEqual(['kill', 'release']);
  expect(await editor.say(sessionId, 'go on')).toBe('end_turn');
});

const TERMINAL = ['terminal/create', 'terminal/wait_for_exit', 'terminal/kill', 'terminal/release'] as const;

test.for(TERMINAL)('cancel does not wait for an editor that never answers %s', async (mute, t) => {
  const reached = createGate();
  const never = new Promise<never>(() => {});
  const extend = (app: ClientApp): ClientApp => {
    const answer = async <Result>(method: string, result: Result): Promise<Result> =>
      method === mute ? never : result;
    return app
      .onRequest('terminal/create', () => {
        if (mute === 'terminal/create') reached.open();
        return answer('terminal/create', { terminalId: '0' });
      })
      .onRequest('terminal/wait_for_exit', () => {
        reached.open();
        return never;
      })
      .onRequest('terminal/kill', () => answer('terminal/kill', {}))
      .onRequest('terminal/release', () => answer('terminal/release', {}));
  };
  const editor = await openEditor(t, {
    ...{ script: [COMMAND, reply('On.')], capabilities: { terminal: true }, answer: () => 'once', extend },
  });
  const { sessionId } = await editor.begin();
  const prompt = editor.say(sessionId, 'run');
  await reached.opened;
  await editor.agent.notify('session/cancel', { sessionId });
  expect(await prompt).toBe('cancelled');
  expect(await editor.say(sessionId, 'go on')).toBe('end_turn');
});

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

test('images and resources go to the model, in the order in which they were mentioned', async (t) => {
  const gemini = await fakeGemini(t, [reply('Seen.'), reply('Also.')]);
  const editor = await openEditor(t, { gemini, files: { 'a.txt': 'linked\n', '.env': 'KEY=1\n' } });
  const { sessionId } = await editor.begin();
  const uri = (name: string) => pathToFileURL(join(editor.at.cwd, name)).href;
  const prompt: ContentBlock[] = [
    { type: 'text', text: 'compare ' },
    { type: 'resource_link', uri: uri('a.txt'), name: 'a.txt' },
    { type: 'text', text: ' with ' },
    { type: 'resource', resource: { uri: uri('b.txt'), text: 'not saved' } },
    { type: 'image', data: PNG, mimeType: 'image/jpeg' },
    { type: 'resource_link', uri: uri('.env'), name: '.env' },
    { type: 'resource_link', uri: 'https://example.com/x', name: 'page' },
  ];
  await editor.agent.request('session/prompt', { sessionId, prompt });
  expect(gemini.requests[0]?.parts).toEqual([
    { text: '=== a.txt ===\nlinked\n' },
    { text: '=== b.txt ===\nnot saved' },
    { inlineData: { mimeType: 'image/png', data: PNG } },
    { text: 'compare a.txt with b.txt.envpage (https://example.com/x)' },
  ]);
  const only: ContentBlock[] = [{ type: 'image', data: PNG, mimeType: 'image/png' }];
  await editor.agent.request('session/prompt', { sessionId, prompt: only });
  expect(gemini.requests[1]?.parts).toEqual([{ inlineData: { mimeType: 'image/png', data: PNG } }]);
});

test('audio goes to the model as what it is; a resource may be binary', async (t) => {
  const gemini = await fakeGemini(t, [reply('Heard.')]);
  const editor = await openEditor(t, { gemini });
  const { sessionId } = await editor.begin();
  const wave = Buffer.concat([Buffer.from('RIFF\x24\0\0\0WAVEfmt '), Buffer.alloc(28)]).toString('base64');
  const prompt: ContentBlock[] = [
    { type: 'text', text: 'listen' },
    { type: 'audio', data: wave, mimeType: 'audio/mpeg' },
    { type: 'resource', resource: { uri: 'zed:///clip', blob: wave, mimeType: 'audio/wav' } },
  ];
  await editor.agent.request('session/prompt', { sessionId, prompt });
  const sound = { inlineData: { mimeType: 'audio/wav', data: wave } };
  expect(gemini.requests[0]?.parts).toEqual([
    sound,
    { text: '=== zed:///clip ===' },
    sound,
    { text: 'listenzed:///clip' },
  ]);
  editor.updates.length = 0;
  await editor.agent.request('session/load', { sessionId, cwd: editor.at.cwd, mcpServers: [] });
  expect(editor.updates[0]).toMatchObject({ content: { type: 'audio', data: wave, mimeType: 'audio/wav' } });
});

test('what no model takes is refused before anything is sent', async (t) => {
  const editor = await openEditor(t, { script: [] });
  const { sessionId } = await editor.begin();
  const send = (prompt: ContentBlock[]) => editor.agent.request('session/prompt', { sessionId, prompt });
  await expect(send([{ type: 'image', data: 'AAAA', mimeType: 'image/png' }])).rejects.toMatchObject({ code: -32602 });
  await expect(send([])).rejects.toMatchObject({ code: -32602 });
  await expect(send([{ type: 'text', text: '  ' }])).rejects.toMatchObject({ code: -32602 });
});

const SERVER = `
const calls = [];
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params, result, error } = JSON.parse(line);
  if (method === 'initialize') send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {}, prompts: {} }, serverInfo: { name: 's', version: '1' } } });
  else if (method === 'tools/list') send({ id, result: { tools: ['greet', 'ask'].map((name) => ({ name, description: name, inputSchema: { type: 'object' } })) } });
  else if (method === 'tools/call' && params.name === 'ask') {
    calls.push(id);
    const requestedSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
    send({ id: 'form', method: 'elicitation/create', params: { mode: 'form', message: 'Who?', requestedSchema } });
  }
  else if (id === 'form') send({ id: calls.pop(), result: { content: [{ type: 'text', text: 'answered ' + JSON.stringify(result ?? error) }] } });
  else if (method === 'prompts/list') send({ id, result: { prompts: [{ name: 'hi', description: 'Says hi', arguments: [] }] } });
  else if (method === 'tools/call') send({ id, result: { content: [{ type: 'text', text: 'hello ' + process.env.WHO }] } });
  else if (id !== undefined) send({ id, result: {} });
});`;

test('an MCP server of the editor joins its session only; its tools are asked about, its prompts are commands', async (t) => {
  const gemini = await fakeGemini(t, [reply(call('greet')), reply('Greeted.'), reply('Nobody.')]);
  const editor = await openEditor(t, { gemini, files: { 'server.cjs': SERVER }, answer: () => 'server' });
  const server = {
    ...{ name: 'mine', command: process.execPath, args: [join(editor.at.cwd, 'server.cjs')] },
    env: [{ name: 'WHO', value: 'you' }],
  };
  const { sessionId } = await editor.begin({ mcpServers: [server] });
  expect(await editor.say(sessionId, 'greet me')).toBe('end_turn');
  expect(JSON.stringify(gemini.requests[1]?.results)).toContain('hello you');
  expect(editor.asked[0]?.toolCall).toMatchObject({ kind: 'other', title: 'greet' });
  const other = await editor.begin();
  await editor.say(other.sessionId, 'and me');
  expect(gemini.requests[2]?.tools).not.toContain('greet');
  await expect
    .poll(() =>
      JSON.stringify(editor.updates.filter(({ sessionUpdate }) => sessionUpdate === 'available_commands_update')),
    )
    .toContain('mine:hi');
});

const FORMS = [
  [{ action: 'accept', content: { name: 'Ada' } }, '{"action":"accept","content":{"name":"Ada"}}'],
  [{ action: 'decline' }, '{"action":"decline"}'],
  [{ action: 'cancel' }, '{"action":"cancel"}'],
] as const;

test.for(FORMS)('a form of an MCP server is shown by the editor: %j', async ([answer, told], t) => {
  const gemini = await fakeGemini(t, [reply(call('ask')), reply('Asked.')]);
  const forms: unknown[] = [];
  const editor = await openEditor(t, {
    ...{ gemini, files: { 'server.cjs': SERVER }, answer: () => 'once', capabilities: { elicitation: { form: {} } } },
    extend: (app) =>
      app.onRequest('elicitation/create', ({ params }) => {
        forms.push(params);
        return answer;
      }),
  });
  const server = { name: 'mine', command: process.execPath, args: [join(editor.at.cwd, 'server.cjs')], env: [] };
  const { sessionId } = await editor.begin({ mcpServers: [server] });
  expect(await editor.say(sessionId, 'ask me')).toBe('end_turn');
  expect(forms).toMatchObject([
    { sessionId, message: 'MCP server mine asks: Who?', requestedSchema: { properties: { name: { type: 'string' } } } },
  ]);
  expect(gemini.requests[1]?.results[0].output).toContain(told);
});

test('cancel while a form is shown does not wait for it', async (t) => {
  const shown = createGate();
  const editor = await openEditor(t, {
    ...{ script: [reply(call('ask'))], files: { 'server.cjs': SERVER }, answer: () => 'once' },
    capabilities: { elicitation: { form: {} } },
    extend: (app) =>
      app.onRequest('elicitation/create', () => {
        shown.open();
        return new Promise<never>(() => {});
      }),
  });
  const server = { name: 'mine', command: process.execPath, args: [join(editor.at.cwd, 'server.cjs')], env: [] };
  const { sessionId } = await editor.begin({ mcpServers: [server] });
  const prompt = editor.say(sessionId, 'ask me');
  await shown.opened;
  await editor.agent.notify('session/cancel', { sessionId });
  expect(await prompt).toBe('cancelled');
});

test('MCP servers that cannot be used are named, with where they come from, and the session goes on', async (t) => {
  const editor = await openEditor(t, { script: [reply('Fine.')] });
  const mcpServers = [
    { name: 'gone', command: join(editor.at.cwd, 'no-such-program'), args: [], env: [] },
    { name: 'wrong', type: 'http', url: 'file:///etc/passwd', headers: [] },
    { name: '__proto__', type: 'sse', url: '', headers: [] },
    { name: 'odd', command: 'x', args: [], env: [{ name: 'A', value: '\0' }] },
  ];
  const { sessionId } = await editor.begin({ mcpServers });
  expect(await editor.say(sessionId, 'hello')).toBe('end_turn');
  const said = JSON.stringify(editor.updates.filter(({ sessionUpdate }) => sessionUpdate === 'agent_thought_chunk'));
  for (const { name } of mcpServers) expect(said).toMatch(new RegExp(`MCP server \\W*${name}\\b`));
  expect(said).toContain('It comes from the program that started gmn');
  expect(said).not.toContain('gmn mcp get');
});
