import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { quoteIfNeeded } from '../../src/core/text/quote.ts';
import { httpPeer, streamable } from '../mcp/client/http-peer.ts';
import { failure, fakeGemini, reply, type Scripted } from '../support/gemini.ts';
import { declarationObjection } from '../support/gemini-schemas.ts';
import { fixtureServer, isRunning, mcpPlace } from '../support/mcp-place.ts';

const GOOD = fixtureServer('mcp-server.mjs');
const LINE = [process.execPath, GOOD.args[0] ?? ''].map(quoteIfNeeded).join(' ');

test('list shows what is configured and whether it may be used, and starts nothing', async (t) => {
  const settings = {
    mcpServers: {
      files: { ...GOOD, env: { TOKEN: 'hunter2hunter2' } },
      wiki: {
        url: 'https://wiki.example/mcp?key=hunter2hunter2',
        type: 'http',
        headers: { Authorization: 'Bearer abcdefgh' },
      },
      off: { url: 'https://off.example' },
      both: { command: 'x', url: 'https://x.example' },
    },
    mcp: { excluded: ['off'] },
  };
  const here = mcpPlace(
    t,
    {},
    {
      home: {
        '.gemini/settings.json': JSON.stringify(settings),
        '.gmn/config.json': '{"mcpServers":{"own":{"httpUrl":"https://own.example"}}}',
      },
      files: { '.gemini/settings.json': '{"mcpServers":{"theirs":{"command":"touch","args":["marker"]}}}' },
    },
  );
  const theirs = join(here.cwd, '.gemini/settings.json');
  const width = LINE.length;
  expect(await here.run(['mcp', 'list'])).toEqual({
    stdout:
      `  files   stdio  ${LINE}  user\n` +
      `  wiki    http   ${'https://wiki.example/mcp?key=‹hidden›'.padEnd(width)}  user\n` +
      `– off     url    ${'https://off.example'.padEnd(width)}  user     disabled\n` +
      `✗ both    stdio  ${'x https://x.example'.padEnd(width)}  user     faulty: it has command and url, but can be of one kind only\n` +
      `  own     http   ${'https://own.example'.padEnd(width)}  user\n` +
      `– theirs  stdio  ${'touch marker'.padEnd(width)}  project  not approved, run: gmn trust\n`,
    stderr: `gmn: ${theirs} is not used: this folder is not trusted. To trust the folder, run: gmn trust\n`,
    exitCode: 0,
  });
  const { servers } = JSON.parse((await here.run(['mcp', 'list', '--json'])).stdout);
  expect(servers[0]).toEqual({
    name: 'files',
    scope: 'user',
    file: here.file,
    kind: 'stdio',
    state: 'ready',
    definition: { ...GOOD, env: { TOKEN: '‹hidden›' } },
  });
  expect(servers.map(({ state }: { state: string }) => state)).toEqual([
    'ready',
    'ready',
    'disabled',
    'faulty',
    'ready',
    'unapproved',
  ]);
});

test.for([
  'mcp call ghost x',
  'mcp tools ghost',
  'mcp get ghost',
  'mcp read ghost x://y',
  'mcp prompt ghost x',
  'mcp prompts ghost',
  'mcp resources ghost',
  'mcp auth ghost',
  'mcp logout ghost',
  'mcp remove ghost',
  'mcp enable ghost',
  'mcp disable ghost',
  'mcp tools --allowed-mcp-server-names files,ghost',
  'mcp list --allowed-mcp-server-names ghost',
  '--allowed-mcp-server-names ghost hi',
  'chat --allowed-mcp-server-names ghost',
])('a server that is not configured is exit code 5: %s', async (words, t) => {
  const here = mcpPlace(t, { files: GOOD });
  Object.assign(here.env, { GEMINI_API_KEY: 'test-key-0123456789', GOOGLE_GEMINI_BASE_URL: 'http://127.0.0.1:1' });
  expect(await here.run(words.split(' '))).toEqual({
    stdout: '',
    stderr: 'Error: there is no MCP server ghost\nTo see which there are, run: gmn mcp list\n',
    exitCode: 5,
  });
});

test('mcp.serverCommand is listed with the file that holds it', async (t) => {
  const line = `${process.execPath} '${GOOD.args[0]}'`;
  const here = mcpPlace(t, {}, { home: { '.gmn/config.json': JSON.stringify({ mcp: { serverCommand: line } }) } });
  const own = join(here.home, '.gmn/config.json');
  expect(JSON.parse((await here.run(['mcp', 'list', '--json'])).stdout).servers).toEqual([
    { name: 'mcp', scope: 'user', file: own, kind: 'stdio', state: 'ready', definition: GOOD },
  ]);
  expect((await here.run(['mcp', 'get', 'mcp'])).stdout).toContain(`from  ${own} (user)`);
  here.write(join(here.cwd, '.gemini/settings.json'), JSON.stringify({ mcp: { serverCommand: `${line} theirs` } }));
  await here.run(['trust']);
  expect(JSON.parse((await here.run(['mcp', 'list', '--json'])).stdout).servers).toMatchObject([
    { name: 'mcp', scope: 'project', file: join(here.cwd, '.gemini/settings.json'), state: 'ready' },
  ]);
});

test('a server that the official CLI, or its own entry, turns off is not used', async (t) => {
  const enablement = JSON.stringify({ 'my files': { enabled: false }, on: { enabled: true } });
  const mcpServers = {
    'My Files': GOOD,
    on: GOOD,
    off: { ...GOOD, disabled: true },
    idle: { ...GOOD, enabled: false },
    used: { ...GOOD, disabled: false },
  };
  const here = mcpPlace(t, mcpServers, { home: { '.gemini/mcp-server-enablement.json': enablement } });
  const switched = join(here.home, '.gemini/mcp-server-enablement.json');
  const states = async () =>
    JSON.parse((await here.run(['mcp', 'list', '--json'])).stdout).servers.map(
      ({ name, state, why = '' }: Record<string, string>) => `${name}: ${state} ${why}`,
    );
  expect(await states()).toEqual([
    'My Files: disabled disabled for the official CLI',
    'on: ready ',
    'off: disabled disabled in its entry',
    'idle: disabled disabled in its entry',
    'used: ready ',
  ]);
  expect(await here.run(['mcp', 'call', 'My Files', 'echo', 'message=hi'])).toEqual({
    stdout: '',
    stderr:
      'Error: MCP server My Files is not used: disabled for the official CLI\nTo use it again, run: gmn mcp enable My Files\n',
    exitCode: 4,
  });
  expect((await here.run(['mcp', 'enable', 'My Files'])).stdout).toBe(`Enabled My Files in ${switched}\n`);
  expect(JSON.parse(here.read(switched))).toEqual({ on: { enabled: true } });
  expect((await here.run(['mcp', 'enable', 'off'])).stdout).toBe(`Enabled off in ${here.file}\n`);
  expect((await here.run(['mcp', 'enable', 'idle'])).stdout).toBe(`Enabled idle in ${here.file}\n`);
  expect((await states()).every((state: string) => state.includes(': ready'))).toBe(true);
  here.write(switched, '{ broken');
  expect((await here.run(['mcp', 'list'])).stderr).toContain(`gmn: ${switched} is not used: `);
});

test('without servers, list says how to add one', async (t) => {
  const here = mcpPlace(t);
  for (const args of [
    ['mcp', 'list'],
    ['mcp', 'list', '--check'],
  ]) {
    expect(await here.run(args)).toEqual({
      stdout: 'No MCP servers are configured. To add one: gmn mcp add <name> <command or address>\n',
      stderr: '',
      exitCode: 0,
    });
  }
});

test('--check: one broken server does not hide the others', async (t) => {
  const wiki = await httpPeer(t, (_, response) => void response.writeHead(401).end());
  const remote = await httpPeer(t, streamable('json'));
  const settings = {
    mcpServers: {
      files: GOOD,
      remote: { url: `${remote.url}/mcp`, type: 'http' },
      wiki: { url: `${wiki.url}/mcp`, type: 'http' },
      gone: { command: 'no-such-program' },
      both: { command: 'x', url: 'http://127.0.0.1:1' },
      old: GOOD,
    },
    mcp: { excluded: ['old'] },
  };
  const here = mcpPlace(t, {}, { settings });
  const { stdout, stderr, exitCode } = await here.run(['mcp', 'list', '--check']);
  const rows = stdout
    .trimEnd()
    .split('\n')
    .map((row) => row.replace(/ {2,}/g, '  ').replace(/[\d.]+ (?:ms|s)$/, '<time>'));
  expect(rows).toEqual([
    `✓ files  stdio  ${LINE}  14 tools: echo, add, environment, arguments, fail, …  <time>`,
    `✓ remote  http  ${remote.url}/mcp  1 tool: echo  <time>`,
    `✗ wiki  http  ${wiki.url}/mcp  401 Unauthorized`,
    '✗ gone  stdio  no-such-program  the connection was lost during initialize. There is no program no-such-program',
    '✗ both  stdio  x http://127.0.0.1:1  faulty: it has command and url, but can be of one kind only',
    '– old  stdio  (disabled)',
  ]);
  expect(stderr).toBe(
    'gmn: wiki: this server needs a sign-in. Try: gmn mcp auth wiki\n' +
      'gmn: gone: See its definition: gmn mcp get gone\n' +
      'gmn: both: to see it, run: gmn mcp get both\n',
  );
  expect(exitCode).toBe(5);
});

test('--check gives a silent server its time, says that it is still starting, and leaves nothing running', async (t) => {
  const pids = (name: string): string => join(here.root, name);
  const here = mcpPlace(t);
  const hostile = (manner: string) => ({
    ...fixtureServer('hostile-mcp-server.mjs', manner),
    env: { GMN_TEST_PIDS: pids(manner) },
  });
  here.write(here.file, JSON.stringify({ mcpServers: { silent: hostile('silent'), stubborn: hostile('stubborn') } }));
  const { stdout, stderr, exitCode } = await here.run(['mcp', 'list', '--check', '--json', '-t', '3s']);
  const { servers, warnings } = JSON.parse(stdout);
  expect(servers).toMatchObject([
    { name: 'silent', ok: false, error: { message: 'still starting: no answer to initialize within 3 s' } },
    { name: 'stubborn', ok: true, tools: ['speak'] },
  ]);
  expect([warnings, stderr, exitCode]).toEqual([
    ['silent: Start it by hand once to see what it waits for. To wait longer: gmn mcp list --check -t 5m'],
    '',
    5,
  ]);
  const started = ['silent', 'stubborn'].flatMap((name) => readFileSync(pids(name), 'utf8').trim().split('\n'));
  expect(started).toHaveLength(3);
  // What was killed is gone as soon as the system finds the time.
  await expect.poll(() => started.map(Number).filter(isRunning), { timeout: 10_000 }).toEqual([]);
});

test('--check names what an answer to initialize lacks', async (t) => {
  const here = mcpPlace(t);
  const script = COUNTED.replace("{ name: 'a', version: '1' }", "{ name: 'a' }");
  writeFileSync(join(here.root, 'odd.cjs'), script);
  const odd = { command: process.execPath, args: [join(here.root, 'odd.cjs')], cwd: here.root };
  here.write(here.file, JSON.stringify({ mcpServers: { odd } }));
  const { stdout, exitCode } = await here.run(['mcp', 'list', '--check']);
  expect([stdout, exitCode]).toEqual([
    expect.stringContaining('its answer to initialize has no serverInfo.version'),
    5,
  ]);
});

/** Writes down when it begins and when its input ends. */
const COUNTED = `
const { appendFileSync } = require('node:fs');
appendFileSync('log', '+');
const result = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'a', version: '1' }, tools: [] };
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id } = JSON.parse(line);
  if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
}).on('close', () => { appendFileSync('log', '-'); process.exit(); });
`;

test.skipIf(availableParallelism() > 8)(
  '--check starts two programs at once for each processor, no more',
  async (t) => {
    const atOnce = 2 * availableParallelism();
    const names = Array.from({ length: 2 * atOnce }, (_, index) => `s${index}`);
    const definition = { command: process.execPath, args: ['counted.cjs'] };
    const servers = Object.fromEntries(names.map((name) => [name, definition]));
    const here = mcpPlace(t, servers, { files: { 'counted.cjs': COUNTED } });
    const { stdout, exitCode } = await here.run(['mcp', 'list', '--check', '--json']);
    const checked: { name: string; ok: boolean }[] = JSON.parse(stdout).servers;
    expect([checked.map(({ name, ok }) => ok && name), exitCode]).toEqual([names, 0]);
    let running = 0;
    const counts = [...readFileSync(join(here.cwd, 'log'), 'utf8')].map((mark) => (running += mark === '+' ? 1 : -1));
    expect(counts).toHaveLength(2 * names.length);
    expect(Math.max(...counts)).toBeLessThanOrEqual(atOnce);
  },
);

const DEEP = JSON.parse(`${'{"properties":{"a":'.repeat(200)}{}${'}}'.repeat(200)}`);
const listed = (tools: readonly object[]) => ({
  ...fixtureServer('hostile-mcp-server.mjs', 'listed'),
  env: { GMN_TEST_TOOLS: JSON.stringify(tools) },
});

test('what is not used of a server’s list of tools is named, by --check, by tools and before a prompt', async (t) => {
  const odd = listed([
    { name: 'deep', inputSchema: DEEP },
    { name: 'wordy', inputSchema: 'object' },
    { name: 'open', inputSchema: true },
    { name: 'fine', inputSchema: { type: 'object' }, outputSchema: DEEP, _meta: DEEP },
    { name: 'text', inputSchema: { type: 'string' } },
    { name: 'loose', inputSchema: { type: 'object', properties: { q: { type: 'array' } } } },
  ]);
  const here = mcpPlace(t, { odd, many: fixtureServer('hostile-mcp-server.mjs', 'many') });
  const words = [
    'deep, wordy skipped: gmn cannot read how the server describes it',
    'text not offered: its schema cannot be used',
    'the schema of loose is invalid, and was repaired for the model',
  ];
  const checked = await here.run(['mcp', 'list', '--check']);
  expect(checked.stdout).toMatch(
    /^✓ odd .* 3 tools: open, fine, loose \(not offered: text\) {2}.*\n✓ many .* 2000 tools: t0, /,
  );
  const { servers } = JSON.parse((await here.run(['mcp', 'list', '--check', '--json'])).stdout);
  expect(servers[0]).toMatchObject({ tools: ['open', 'fine', 'loose'], notOffered: ['text'] });
  expect(servers[1]).not.toHaveProperty('notOffered');
  expect(checked.stderr).toBe(
    `${words.map((line) => `gmn: odd: ${line}\n`).join('')}gmn: many: only the first 2000 tools are used\n`,
  );
  const tools = await here.run(['mcp', 'tools', 'odd']);
  expect(tools.stdout).toBe('open\nfine\ntext\nloose\n    q array\n');
  expect(tools.stderr).toBe(words.map((line) => `gmn: odd: ${line}\n`).join(''));
  const gemini = await fakeGemini(t, [reply('a')]);
  Object.assign(here.env, { GEMINI_API_KEY: 'test-key-0123456789', GOOGLE_GEMINI_BASE_URL: gemini.url });
  // What is kept of an earlier look says the same.
  const asked = await here.run(['--allowed-mcp-server-names', 'odd', 'x']);
  expect(asked).toEqual({
    stdout: 'a\n',
    stderr: words.map((line) => `gmn: MCP server odd: ${line}\n`).join(''),
    exitCode: 0,
  });
  expect(gemini.requests[0]?.body.tools[0].functionDeclarations.map(declarationObjection)).toEqual(
    Array.from({ length: 3 }, () => undefined),
  );
});

test.for<readonly [string, unknown, 'lost' | 'mended']>([
  ['a number for its type', { type: 5 }, 'lost'],
  ['a type nobody knows', { type: 'nonsense' }, 'lost'],
  ['a property with a number for its type', { type: 'object', properties: { q: { type: 5 } } }, 'mended'],
  ['a property of a type nobody knows', { type: 'object', properties: { q: { type: 'nonsense' } } }, 'mended'],
  ['a word for what is required', { type: 'object', properties: { q: {} }, required: 'q' }, 'mended'],
  ['a list without items', { type: 'object', properties: { q: { type: 'array' } } }, 'mended'],
  ['what it requires missing', { type: 'object', properties: {}, required: ['q'] }, 'mended'],
])('a tool whose schema has %s costs no turn, and is named with its server', async ([, inputSchema, end], t) => {
  const here = mcpPlace(t, {
    odd: listed([
      { name: 'sick', inputSchema },
      { name: 'well', inputSchema: { type: 'object' } },
    ]),
  });
  const strict: Scripted = (response, request) => {
    const objections = request.body.tools[0].functionDeclarations.flatMap(
      (each: unknown) => declarationObjection(each) ?? [],
    );
    const answer = objections.length === 0 ? reply('fine') : failure(400, 'INVALID_ARGUMENT', objections.join());
    return answer(response, request);
  };
  const gemini = await fakeGemini(t, [strict]);
  Object.assign(here.env, { GEMINI_API_KEY: 'test-key-0123456789', GOOGLE_GEMINI_BASE_URL: gemini.url });
  expect(await here.run(['--allowed-mcp-server-names', 'odd', 'x'])).toEqual({
    stdout: 'fine\n',
    stderr:
      end === 'lost'
        ? 'gmn: MCP server odd: sick not offered: its schema cannot be used\n'
        : 'gmn: MCP server odd: the schema of sick is invalid, and was repaired for the model\n',
    exitCode: 0,
  });
});

test('get shows one server as it is written, without its secrets', async (t) => {
  const entry = {
    command: 'npx',
    args: ['--token', 'hunter2hunter2', '$HOME'],
    env: { A: 'hunter2hunter2' },
    timeout: 5,
  };
  const here = mcpPlace(t, { files: entry });
  expect(await here.run(['mcp', 'get', 'files'])).toEqual({
    stdout:
      "files      npx --token '‹hidden›' $HOME\n" +
      `  from     ${here.file} (user)\n` +
      '  env      A=‹hidden›\n' +
      '  timeout  5\n',
    stderr: '',
    exitCode: 0,
  });
  expect(JSON.parse((await here.run(['mcp', 'get', 'files', '--json'])).stdout)).toEqual({
    name: 'files',
    scope: 'user',
    file: here.file,
    kind: 'stdio',
    state: 'ready',
    definition: { ...entry, args: ['--token', '‹hidden›', '$HOME'], env: { A: '‹hidden›' } },
  });
  expect(await here.run(['mcp', 'get', 'flies'])).toEqual({
    stdout: '',
    stderr: 'Error: there is no MCP server flies\nDid you mean files?\n',
    exitCode: 5,
  });
});

test('tools of all servers: the others are shown, the failure is reported, and the exit code is 5', async (t) => {
  const here = mcpPlace(t, { one: fixtureServer('hostile-mcp-server.mjs'), gone: { command: 'no-such-program' } });
  expect(await here.run(['mcp', 'tools'])).toEqual({
    stdout: 'one\n  speak  speak\n',
    stderr:
      'gmn: MCP server gone: the connection was lost during initialize. There is no program no-such-program. See its definition: gmn mcp get gone\n',
    exitCode: 5,
  });
  const { stdout, exitCode } = await here.run(['mcp', 'tools', '--json']);
  expect(JSON.parse(stdout)).toEqual({
    servers: [
      { name: 'one', tools: [{ name: 'speak', description: 'speak', inputSchema: { type: 'object' } }] },
      {
        name: 'gone',
        error: {
          message: 'the connection was lost during initialize. There is no program no-such-program',
          suggestion: 'See its definition: gmn mcp get gone',
        },
      },
    ],
  });
  expect(exitCode).toBe(5);
  const named = await here.run(['mcp', 'tools', 'gone']);
  expect(named).toEqual({
    stdout: '',
    stderr:
      'Error: MCP server gone: the connection was lost during initialize. There is no program no-such-program\nSee its definition: gmn mcp get gone\n',
    exitCode: 5,
  });
});

test("a cloned folder's servers start by no command, until gmn trust has shown them", async (t) => {
  const marker = { command: process.execPath, args: ['-e', 'require("fs").writeFileSync("marker", "")'] };
  const here = mcpPlace(
    t,
    {},
    { files: { '.gemini/settings.json': JSON.stringify({ mcpServers: { theirs: marker } }) } },
  );
  const commands = [
    ['list', '--check'],
    ['tools'],
    ['prompts'],
    ['resources'],
    ['get', 'theirs'],
    ['tools', 'theirs'],
    ['call', 'theirs', 'x'],
    ['read', 'theirs', 'x://y'],
    ['prompt', 'theirs', 'x'],
    ['disable', 'theirs'],
    ['enable', 'theirs'],
  ];
  for (const args of commands) await here.run(['mcp', ...args]);
  const started = () => here.read(join(here.cwd, 'marker'));
  expect(started).toThrow();
  const file = join(here.cwd, '.gemini/settings.json');
  expect(await here.run(['mcp', 'call', 'theirs', 'x', '-q'])).toEqual({
    stdout: '',
    stderr:
      `Error: MCP server theirs is new or changed in ${file}, and not approved\n` +
      'To review and approve it, run: gmn trust\n',
    exitCode: 4,
  });
  await here.run(['trust']);
  expect((await here.run(['mcp', 'call', 'theirs', 'x'])).exitCode).toBe(5);
  expect(started()).toBe('');
});

test('a server whose list never ends is given up, and delays no other', async (t) => {
  const here = mcpPlace(t, {
    slow: { ...fixtureServer('hostile-mcp-server.mjs', 'drip'), timeout: 4000 },
    files: fixtureServer('hostile-mcp-server.mjs', 'good'),
  });
  expect(await here.run(['mcp', 'tools'])).toEqual({
    stdout: 'files\n  speak  speak\n',
    stderr: 'gmn: MCP server slow: no complete answer to tools/list within 4 s\n',
    exitCode: 5,
  });
});
