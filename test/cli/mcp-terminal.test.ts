import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { oauthPeer } from '../mcp/client/oauth-peer.ts';
import { screenOf } from '../support/chat-terminal.ts';
import { call, fakeGemini, reply } from '../support/gemini.ts';
import { type GmnOptions, parseLines } from '../support/gmn.ts';
import { fixtureServer, mcpPlace } from '../support/mcp-place.ts';
import { runInTerminal } from '../support/pty.ts';

const home = (mcpServers: object): GmnOptions => ({ settings: { mcpServers } });

const RUDE = home({ rude: fixtureServer('rude-mcp-server.mjs') });

/** What a terminal obeys, but for the spinner's carriage returns and the line ends of the terminal itself. */
const COMMANDS =
  /\x1b(?!\[\?(?:1|25|2004)[hl]|\[[\dA-Z;]*[GJKm])|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/;

/** How the spinner finds its row again: only a slow server makes gmn draw it. */
const SPINNER = /\x1b\[J\x1b7|\x1b8(?=\r)|\r\x1b\[\d+A/g;

test.for([
  [['mcp', 'tools', 'rude'], 0],
  [['mcp', 'tools'], 0],
  [['mcp', 'call', 'rude', 'speak'], 0],
  [['mcp', 'call', 'rude', 'show'], 0],
  [['mcp', 'call', 'rude', 'fail'], 5],
  [['mcp', 'call', 'rude', 'spaek'], 5],
  [['mcp', 'prompts', 'rude'], 0],
  [['mcp', 'prompt', 'rude', 'say'], 0],
  [['mcp', 'resources', 'rude'], 0],
  [['mcp', 'read', 'rude', 'x://y'], 0],
  [['mcp', 'list', '--check'], 0],
  [['mcp', 'probe', ...Object.values(fixtureServer('rude-mcp-server.mjs')).flat()], 0],
] as const)('nothing that a server says is obeyed by a terminal: %j', async ([args, exitCode], t) => {
  const run = await runInTerminal(t, args, RUDE).ended;
  expect(run.exitCode).toBe(exitCode);
  expect(run.output.length).toBeGreaterThan(10);
  expect(run.output.replaceAll(SPINNER, '').match(COMMANDS)).toBeNull();
  expect(run.output).not.toContain('\u001b]0;owned');
  expect(run.output).not.toContain('\u001b[2J');
});

test('a name in the settings is not obeyed either', async (t) => {
  const name = 'a\u001b]0;owned\u0007\u202e';
  const run = await runInTerminal(t, ['mcp', 'list', '--check'], home({ [name]: { command: name, args: [name] } }))
    .ended;
  expect(run.output.replaceAll(SPINNER, '').match(COMMANDS)).toBeNull();
  expect(run.output).toContain('a\\x1b]0;owned\\x07\\u202e');
  expect(run.exitCode).toBe(5);
});

const GOOD = home({ files: fixtureServer('mcp-server.mjs') });

test('a question of the server is asked on the terminal, with its name, and the answer reaches it', async (t) => {
  const terminal = runInTerminal(t, ['mcp', 'call', 'files', 'ask'], GOOD);
  const asked = await terminal.until(/\[y\]es \[n\]o › /);
  expect(asked).toContain('╭ MCP server files asks\r\n│ Your name?\r\n');
  terminal.type('y');
  await terminal.until(/╭ MCP server files asks for\r\n│ name\r\n[^╰]*╰ to files › /);
  terminal.type('Ada\r');
  const { output, exitCode } = await terminal.ended;
  expect(output).toContain('{"action":"accept","content":{"name":"Ada"}}');
  expect(exitCode).toBe(0);
});

test('an answer outside of the schema is asked for again, with the reason', async (t) => {
  const form = {
    type: 'object',
    required: ['age', 'mail'],
    properties: {
      age: { type: 'integer', minimum: 18, maximum: 99 },
      nick: { type: 'string', minLength: 3, maxLength: 5 },
      mail: { type: 'string', format: 'email' },
      size: { type: 'string', enum: ['s', 'l'] },
    },
  };
  const terminal = runInTerminal(t, ['mcp', 'call', 'files', 'ask', '--json', JSON.stringify({ form })], GOOD);
  await terminal.until(/\[y\]es \[n\]o › /);
  terminal.type('y');
  const answers: readonly (readonly [wanted: RegExp, answer: string])[] = [
    [/│ age \(a number\)\r\n/, 'many'],
    [/│ This must be a whole number\.\r\n│ age/, '17'],
    [/│ age: 17 is too small for a minimum of 18\.\r\n│ age/, '120'],
    [/│ age: 120 is too large for a maximum of 99\.\r\n│ age/, '20'],
    [/│ nick \(Enter to skip\)\r\n/, 'ab'],
    [/│ nick: String is too short \(2 < 3\)\.\r\n│ nick/, 'abcdef'],
    [/│ nick: String is too long \(6 > 5\)\.\r\n│ nick/, ''],
    [/│ mail\r\n/, 'nobody'],
    [/│ mail: String does not match format "email"\.\r\n│ mail/, 'a@example.org'],
    [/│ size \(s \| l; Enter to skip\)\r\n/, 'm'],
    [/│ Choose one of these\.\r\n│ size/, 'l'],
  ];
  for (const [wanted, answer] of answers) {
    await terminal.until(new RegExp(`${wanted.source}[^╰]*╰ to files › `));
    terminal.type(`${answer}\r`);
  }
  const { output } = await terminal.ended;
  expect(output).toContain('{"action":"accept","content":{"age":20,"mail":"a@example.org","size":"l"}}');
});

test('a question that is padded to the width of the window cannot pass for one of gmn', async (t) => {
  const columns = 60;
  const lie = `${'Enter your Gemini API key'.padEnd(columns)}gmn: `;
  const question = {
    message: `Welcome.${' '.repeat(columns - 10)}${lie}\r\n${lie}\t${lie}`,
    requestedSchema: {
      type: 'object',
      properties: { key: { type: 'string', title: `x${' '.repeat(columns - 4)}${lie}`, description: lie } },
      required: ['key'],
    },
  };
  const asking = fixtureServer('hostile-mcp-server.mjs', 'late-question', JSON.stringify(question));
  const terminal = runInTerminal(t, ['mcp', 'call', 'files', 'speak'], { ...home({ files: asking }), columns });
  await terminal.until(/\[y\]es \[n\]o › /);
  terminal.type('y');
  const output = await terminal.until(/╰ to files › /);
  const rows = screenOf(output, columns).split('\n');
  const first = rows.findIndex((row) => row.startsWith('╭ MCP server files asks'));
  expect(rows.slice(first).filter((row) => !/^[╭│┊┆╰]/.test(row))).toEqual([]);
  expect(rows.filter((row) => row.startsWith('╭ MCP server files asks'))).toHaveLength(2);
  terminal.type('\u0003');
  await terminal.ended;
});

test.for([
  ['n', '{"action":"decline"}'],
  ['\r', '{"action":"decline"}'],
] as const)('a question that is answered with %j is declined', async ([key, expected], t) => {
  const terminal = runInTerminal(t, ['mcp', 'call', 'files', 'ask'], GOOD);
  await terminal.until(/\[y\]es \[n\]o › /);
  terminal.type(key);
  expect((await terminal.ended).output).toContain(expected);
});

test('without a terminal, gmn declares no elicitation to servers', async (t) => {
  const here = mcpPlace(t, { files: fixtureServer('mcp-server.mjs') });
  expect(await here.run(['mcp', 'call', 'files', 'ask'])).toEqual({
    stdout: '{"code":-32601}\n',
    stderr: '',
    exitCode: 0,
  });
});

test('the progress of a call is shown while it lasts, and gone after it', async (t) => {
  const terminal = runInTerminal(t, ['mcp', 'call', 'files', 'steps', 'count=20'], GOOD);
  const { output, exitCode } = await terminal.ended;
  const shown = output.search(/files steps \d+ % step \d+/);
  expect(output.slice(0, shown)).not.toContain('all steps');
  expect([shown > 0, screenOf(output)]).toEqual([true, 'all steps']);
  expect(exitCode).toBe(0);
});

test('Ctrl+C cancels the call at the server, exit 130', async (t) => {
  const place = mcpPlace(t);
  const log = join(place.root, 'messages');
  const terminal = runInTerminal(
    t,
    ['mcp', 'call', 'files', 'wait'],
    home({ files: { ...fixtureServer('mcp-server.mjs'), env: { GMN_TEST_LOG: log } } }),
  );
  await terminal.until(/files wait/);
  const messages = () => parseLines(readFileSync(log, 'utf8'));
  await expect.poll(() => messages().some(({ method }) => method === 'tools/call')).toBe(true);
  terminal.type('\u0003');
  const { output, exitCode } = await terminal.ended;
  expect(exitCode).toBe(130);
  expect(screenOf(output)).toContain(
    'Interrupted (SIGINT).\nThe server was asked to stop; what the tool had done by then is not undone.',
  );
  expect(messages().at(-1)).toMatchObject({ method: 'notifications/cancelled' });
});

test.for([
  ['a one-shot', ['--allowed-mcp-server-names', 'files', 'x']],
  ['a chat', ['chat', 'x']],
] as const)(
  'in %s, a question of a server stands alone, without the spinner, which shows its progress',
  async ([, args], t) => {
    const gemini = await fakeGemini(t, [reply(call('speak', {})), reply('done')]);
    const terminal = runInTerminal(t, args, {
      gemini,
      ...home({ files: { ...fixtureServer('hostile-mcp-server.mjs', 'late-question'), trust: true } }),
    });
    const output = await terminal.until(/\[y\]es \[n\]o › /);
    expect(output).toMatch(/\p{Script=Braille} speak 50 % half \\x1b\[2Jway/u);
    expect(screenOf(output)).toMatch(/(?:^|\n)╭ MCP server files asks\n│ Sure\?\n╰ Answer\? \[y\]es \[n\]o ›/);
    terminal.type('y');
    await terminal.until(/done/);
  },
);

test('without a browser here, the address at which another one ended can be pasted, if it is of this sign-in', async (t) => {
  const peer = await oauthPeer(t);
  const wiki = { url: `${peer.url}/mcp`, type: 'http' };
  const terminal = runInTerminal(t, ['mcp', 'auth', 'wiki', '--no-browser'], { ...home({ wiki }), columns: 500 });
  const asked = await terminal.until(/paste that address here\.[\s\S]*Address: /);
  const [, page = ''] = /open this address:\s+(\S+)/.exec(asked) ?? [];
  const { headers } = await fetch(page, { redirect: 'manual' });
  const back = new URL(headers.get('location') ?? '');
  const forged = new URL(back);
  forged.searchParams.set('state', 'forged');
  terminal.type(`${forged.href}\r`);
  await terminal.until(/That is not the address of this sign-in\.[\s\S]*Address: /);
  terminal.type(`${back.href}\r`);
  const { output, exitCode } = await terminal.ended;
  expect([exitCode, screenOf(output, 500).split('\n').at(-1)]).toEqual([0, 'Signed in to wiki']);
  expect(peer.asked('/token')).toHaveLength(1);
});

test('Ctrl+C where an address could be pasted ends the sign-in', async (t) => {
  const peer = await oauthPeer(t);
  const wiki = { url: `${peer.url}/mcp`, type: 'http' };
  const terminal = runInTerminal(t, ['mcp', 'auth', 'wiki', '--no-browser'], home({ wiki }));
  await terminal.until(/Address: /);
  terminal.type('\u0003');
  const { output, exitCode } = await terminal.ended;
  expect([exitCode, screenOf(output).split('\n').at(-1)]).toEqual([130, 'Interrupted.']);
});

test('a server that is started by hand says what it waits for, and Ctrl+C ends it', async (t) => {
  const terminal = runInTerminal(t, ['mcp', 'serve', '--demo'], { env: { NO_COLOR: '1' }, columns: 200 });
  await terminal.until(
    /waiting for an MCP client on stdin; clients start this command themselves\. Ctrl\+C ends it\r\n/,
  );
  terminal.type('\x03');
  expect((await terminal.ended).exitCode).toBe(130);
});
