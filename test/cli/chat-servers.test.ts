import { expect, test } from 'vitest';
import { pipedChat } from '../support/chat.ts';
import { chatInTerminal } from '../support/chat-terminal.ts';
import { call, fakeGemini, reply } from '../support/gemini.ts';
import { callGmn } from '../support/gmn.ts';
import { fixtureServer } from '../support/mcp-place.ts';
import { posixTest } from '../support/posix.ts';

const MEMO = fixtureServer('mcp-server.mjs');
const home = (mcpServers: object, mcp: object = {}) => ({
  '.gemini/settings.json': JSON.stringify({ mcpServers, mcp }),
});

test('/mcp lists every server with its state and its tools', async (t) => {
  const servers = {
    memo: { ...MEMO, includeTools: ['echo', 'add'] },
    gone: { command: 'no-such-program' },
    off: MEMO,
    odd: { nothing: true },
  };
  const { stderr } = await pipedChat(t, ['/mcp'], { args: ['--demo'], home: home(servers, { excluded: ['off'] }) });
  const listed = stderr.slice(stderr.indexOf('  memo'));
  expect(listed.replace(/\n0 turns[\s\S]*$/, '').split('\n')).toEqual([
    '  memo  ready · 2 tools: echo, add',
    '  gone  MCP server gone: the connection was lost during initialize. There is no program no-such-program. See its definition: gmn mcp get gone',
    '  off   disabled',
    expect.stringMatching(/^ {2}odd {3}its definition cannot be used: /),
  ]);
});

posixTest('/mcp reload has the servers of the settings as they are now, and what these offer now', async (t) => {
  const tools = (includeTools: readonly string[]) => ({ memo: { ...MEMO, trust: true, includeTools } });
  const gemini = await fakeGemini(t, [reply('a'), reply(call('add', { a: 1, b: 2 })), reply('b')]);
  const { stdout, stderr } = await pipedChat(
    t,
    ['x', '!cp more.json "$HOME/.gemini/settings.json"', '/mcp reload', 'y', '/mcp relaod'],
    { gemini, home: home(tools(['echo'])), files: { 'more.json': JSON.stringify({ mcpServers: tools(['add']) }) } },
  );
  expect(stdout).toContain('b\n');
  expect(stderr).toContain('  memo  ready · 1 tool: add\n');
  expect(stderr).toContain('Error: /mcp does not take relaod\nUse /mcp or /mcp reload.\n');
  const names = gemini.requests.map(({ body }) =>
    body.tools[0].functionDeclarations.map((tool: { name: string }) => tool.name),
  );
  expect(names.map((each) => [each.includes('echo'), each.includes('add')])).toEqual([
    [true, false],
    [false, true],
    [false, true],
  ]);
  expect(gemini.requests[2]?.results[0]).toMatchObject({ output: '3' });
});

/** Has the tool that the file `tool` names. */
const NAMED_TOOL_SERVER = `
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
const name = readFileSync('tool', 'utf8').trim();
const results = {
  initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'named', version: '1' } },
  'tools/list': { tools: [{ name, inputSchema: { type: 'object' } }] },
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method } = JSON.parse(line);
  const answer = results[method] ? { result: results[method] } : { error: { code: -32601, message: 'unknown' } };
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
}
`;

posixTest('/mcp reload asks a server of the same definition for its tools again', async (t) => {
  const { stderr } = await pipedChat(t, ['/mcp', '!echo second > tool', '/mcp reload'], {
    args: ['--demo'],
    home: home({ named: { command: process.execPath, args: ['server.mjs'] } }),
    files: { 'server.mjs': NAMED_TOOL_SERVER, tool: 'first\n' },
  });
  expect(stderr.match(/named {2}ready · .*/g)).toEqual([
    'named  ready · 1 tool: first',
    'named  ready · 1 tool: second',
  ]);
});

posixTest('/mcp reload that cannot read the servers leaves those there are at work', async (t) => {
  const gemini = await fakeGemini(t, [reply(call('echo', { message: 'still' })), reply('b')]);
  const { stdout, stderr } = await pipedChat(t, ['!echo "{ broken" > servers.json', '/mcp reload', '/mcp', 'y'], {
    gemini,
    args: ['--mcp-config', 'servers.json', '--allowed-tools', 'echo'],
    files: { 'servers.json': JSON.stringify({ mcpServers: { memo: { ...MEMO, includeTools: ['echo'] } } }) },
  });
  expect(stdout).toContain('b\n');
  expect(stderr).toMatch(/Error: .*servers\.json:1:/);
  expect(stderr).toContain('  memo  ready · 1 tool: echo\n');
  expect(gemini.requests[1]?.results[0]).toMatchObject({
    output: 'still',
  });
});

test('/server:prompt asks what the server makes of it, arguments by name or in order', async (t) => {
  const gemini = await fakeGemini(t, [reply('a'), reply('b')]);
  const lines = ['/memo:greet who="Ann Lee"', '/memo:greet Bo and Cy', '/memo:greet', '/memo:gret x', '/nobody:greet'];
  const { stdout, stderr } = await pipedChat(t, lines, { gemini, home: home({ memo: MEMO }) });
  expect(stdout).toBe('a\nb\n');
  expect(gemini.requests.map(({ body }) => body.contents.at(-1).parts)).toEqual([
    [{ text: 'Hello Ann Lee' }],
    [{ text: 'Hello Bo and Cy' }],
  ]);
  expect(stderr).toMatch(
    /^Error: the prompt greet needs who\nAdd: who=…\nError: MCP server memo has no prompt gret\nDid you mean \/memo:greet\?\nError: there is no command \/nobody:greet\n/,
  );
});

test.for(['@memo:memo://1', '@memo://1'])(
  '%s attaches the resource, in a chat and in a one-shot',
  async (mention, t) => {
    const gemini = await fakeGemini(t, [reply('a'), reply('b')]);
    const where = { gemini, home: home({ memo: MEMO }) };
    const chat = await pipedChat(t, [`sum up ${mention}, please`], where);
    const once = await callGmn(t, ['--allowed-mcp-server-names', 'memo', `sum up ${mention}, please`], where);
    const text = `=== memo://1 ===\nkept text\n\nsum up ${mention}, please`;
    expect(gemini.requests.map(({ body }) => body.contents[0].parts)).toEqual([[{ text }], [{ text }]]);
    expect(chat.stderr).toMatch(/^\+ memo:\/\/1 \(9 B\)\n/);
    expect(once.stderr).toBe('gmn: + memo://1 (9 B)\n');
  },
);

test('a mention of a server that is gone or unknown is reported and stays text', async (t) => {
  const { stderr, requests } = await pipedChat(t, ['see @gone:x://y and @none:x://y'], {
    script: [reply('a')],
    home: home({ gone: { command: 'no-such-program' } }),
  });
  expect(stderr).toMatch(
    /\nnot attached: @gone:x:\/\/y: MCP server gone: .*\nnot attached: @none:x:\/\/y is not a .*\n1 turn/,
  );
  expect(requests[0]?.body.contents[0].parts).toEqual([{ text: 'see @gone:x://y and @none:x://y' }]);
});

posixTest(
  'Tab completes servers, their prompts, the arguments of these and what they could be, and resources',
  async (t) => {
    const chat = chatInTerminal(t, ['--demo'], { home: home({ note: MEMO }) });
    await chat.until(/❯ /);
    chat.type('/no\t');
    await chat.shows(/❯ \/note:$/m);
    chat.type('\t');
    await chat.shows(/❯ \/note:greet$/m);
    chat.type('\t');
    await chat.shows(/❯ \/note:greet who=$/m);
    chat.type('B\t');
    await chat.shows(/❯ \/note:greet who=Bo$/m);
    chat.type('\u0015/note:greet who=Ann\t');
    await chat.shows(/❯ \/note:greet who="Ann Lee"$/m);
    chat.type('\u0015@note:\t');
    await chat.shows(/❯ @note:memo:\/\/1$/m);
    chat.type('\u0015\u0004');
    expect((await chat.ended).exitCode).toBe(0);
  },
);
