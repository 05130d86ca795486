import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { UNTRUSTED } from '../../src/core/tool.ts';
import { pipedChat } from '../support/chat.ts';
import { call, type FakeGemini, fakeGemini, reply } from '../support/gemini.ts';
import { callGmn, callGmnIn, place } from '../support/gmn.ts';
import { fixtureServer, mcpPlace } from '../support/mcp-place.ts';

const GOOD = fixtureServer('mcp-server.mjs');
const home = (mcpServers: object) => ({ '.gemini/settings.json': JSON.stringify({ mcpServers }) });
const declared = ({ requests }: FakeGemini): readonly string[] =>
  (requests[0]?.body.tools?.[0]?.functionDeclarations ?? []).map(({ name }: { name: string }) => name);
const answered = ({ requests }: FakeGemini) => requests[1]?.parts[0].functionResponse;

test('a one-shot offers the tools of the servers it names, beside its own, and calls them', async (t) => {
  const gemini = await fakeGemini(t, [reply(call('add', { a: 40, b: 2 })), reply('42, then.')]);
  const gmn = await callGmn(
    t,
    ['--allowed-mcp-server-names', 'files', '--allowed-tools', 'files__*', '--tools', 'glob', 'x'],
    {
      gemini,
      home: home({ files: GOOD, other: { command: 'no-such-program' } }),
    },
  );
  expect([gmn.stdout, gmn.exitCode]).toEqual(['42, then.\n', 0]);
  expect(declared(gemini).slice(0, 3)).toEqual(['glob', 'echo', 'add']);
  expect(answered(gemini)).toMatchObject({ name: 'add', response: { output: '42' } });
});

test('what read_file shows of an answer that was too long is marked as data, like the answer', async (t) => {
  const message = `${'line of an answer\n'.repeat(3000)}END`;
  const gemini = await fakeGemini(t, [
    reply(call('echo', { message }), call('read_file', { file_path: 'own.txt' })),
    (response, { body }) => {
      const { output } = body.contents.at(-1).parts[0].functionResponse.response;
      const [, path = ''] = /read_file (\S+)/.exec(output) ?? [];
      return reply(call('read_file', { file_path: path, start_line: 2990 }))(response, { ...body });
    },
    reply('done'),
  ]);
  const flags = ['--allowed-mcp-server-names', 'files', '--allowed-tools', 'files__*', '--tools', 'read'];
  const files = { 'own.txt': 'mine' };
  await callGmn(t, [...flags, 'x'], { gemini, files, home: home({ files: GOOD }) });
  expect(gemini.requests[1]?.results[1]).toEqual({ output: 'mine' });
  expect(gemini.requests[2]?.results[0]).toEqual({
    output: expect.stringMatching(/line of an answer\nEND$/),
    ...UNTRUSTED,
  });
});

test('five calls of one reply to a server that ends after each answer all succeed', async (t) => {
  const rounds = [1, 2, 3, 4, 5];
  const gemini = await fakeGemini(t, [reply(...rounds.map((n) => call('speak', { n }))), reply('done')]);
  const once = { ...fixtureServer('hostile-mcp-server.mjs', 'once'), trust: true };
  const gmn = await callGmn(t, ['--allowed-mcp-server-names', 'once', 'x'], { gemini, home: home({ once }) });
  expect([gmn.stdout, gmn.exitCode]).toEqual(['done\n', 0]);
  const spoken = rounds.map((n) => ({ output: `spoken ${n}`, ...UNTRUSTED }));
  expect(gemini.requests[1]?.results).toEqual(spoken);
});

test('without a word about servers, none is started, which --debug says', async (t) => {
  const gemini = await fakeGemini(t, [reply('hi')]);
  const log = join(mcpPlace(t).root, 'log');
  const servers = home({ files: { ...GOOD, env: { GMN_TEST_LOG: log } } });
  const { stderr } = await callGmn(t, ['--tools', 'read', '-o', 'stream-json', '--debug', 'x'], {
    gemini,
    home: servers,
  });
  expect(stderr).toMatch(/^\[\+\d+ ms\] MCP servers that are not used: files; --allowed-mcp-server-names uses them$/m);
  await callGmn(t, ['--allowed-mcp-server-names', 'files', '--dry-run', 'x'], { gemini, home: servers });
  expect(existsSync(log)).toBe(false);
});

test('a remote tool is not run unasked; naming it, or trust in the user’s own file, allows it', async (t) => {
  const ask = async (args: readonly string[], entry: object) => {
    const gemini = await fakeGemini(t, [reply(call('echo', { message: 'hi' })), reply('done')]);
    await callGmn(t, ['--allowed-mcp-server-names', 'files', ...args, 'x'], { gemini, home: home({ files: entry }) });
    return answered(gemini).response;
  };
  expect(await ask([], GOOD)).toEqual({
    error:
      "echo was not run: it needs the user's approval, and there is no terminal to ask on. " +
      'The user can allow it with --allowed-tools echo.',
  });
  expect(await ask(['--allowed-tools', 'echo'], GOOD)).toEqual({ output: 'hi', ...UNTRUSTED });
  expect(await ask([], { ...GOOD, trust: true })).toEqual({ output: 'hi', ...UNTRUSTED });
});

test('only a server that the user trusts tells the model how it wants to be used', async (t) => {
  const told = async (entry: object) => {
    const args = ['--no-agent-prompt', '--allowed-mcp-server-names', 'files', 'x'];
    const { requests } = await callGmn(t, args, { script: [reply('hi')], home: home({ files: entry }) });
    return requests[0]?.body.systemInstruction?.parts[0].text;
  };
  expect(await told(GOOD)).toBeUndefined();
  expect(await told({ ...GOOD, trust: true })).toBe('# Instructions from the MCP server files\n\nUse echo.');
});

test('--mcp-config alone names the servers of that file, and does not trust them', async (t) => {
  const gemini = await fakeGemini(t, [reply(call('echo', { message: 'hi' })), reply('done')]);
  const files = { 'mcp.json': JSON.stringify({ mcpServers: { here: { ...GOOD, trust: true } } }) };
  const gmn = await callGmn(t, ['--mcp-config', 'mcp.json', 'x'], { gemini, files, home: home({ other: GOOD }) });
  expect([gmn.stdout, gmn.exitCode]).toEqual(['done\n', 0]);
  expect(declared(gemini)).toHaveLength(14);
  expect(answered(gemini).response.error).toContain('was not run');
});

test('a server that fails is reported, and the run continues; one that does not exist stops it', async (t) => {
  const gemini = await fakeGemini(t, [reply('hi')]);
  const servers = home({ gone: { command: 'no-such-program' } });
  const gmn = await callGmn(t, ['--allowed-mcp-server-names', 'gone', 'x'], { gemini, home: servers });
  expect([gmn.stdout, gmn.stderr, gmn.exitCode]).toEqual([
    'hi\n',
    'gmn: MCP server gone: the connection was lost during initialize. There is no program no-such-program. See its definition: gmn mcp get gone\n',
    0,
  ]);
  const wrong = await callGmn(t, ['--allowed-mcp-server-names', 'gon', 'x'], { gemini, home: servers });
  expect([wrong.stdout, wrong.stderr, wrong.exitCode]).toEqual([
    '',
    'Error: there is no MCP server gon\nDid you mean gone?\n',
    5,
  ]);
});

test('--allowed-tools with the tool of a server that is down, disabled or silent on it ends no run', async (t) => {
  const gone = { command: 'no-such-program' };
  const told = 'there is no such tool now; the MCP server w may have it, but does not offer it\n';
  const ask = async (servers: object, args: readonly string[], more: object = {}) => {
    const settings = { '.gemini/settings.json': JSON.stringify({ mcpServers: servers, ...more }) };
    const { stdout, stderr, exitCode } = await callGmn(t, [...args, 'x'], { script: [reply('hi')], home: settings });
    expect([stdout, exitCode]).toEqual(['hi\n', 0]);
    return stderr;
  };
  const named = ['--allowed-mcp-server-names', 'w', '--allowed-tools', 'wtool'];
  expect(await ask({ w: gone }, named)).toContain(`gmn: --allowed-tools wtool: ${told}`);
  const excluded = ['--allowed-mcp-server-names', 'w', '--allowed-tools', 'echo'];
  expect(await ask({ w: { ...GOOD, excludeTools: ['echo'] } }, excluded)).toBe(`gmn: --allowed-tools echo: ${told}`);
  const both = { w: { ...GOOD, disabled: true }, other: GOOD };
  expect(await ask(both, ['--allowed-mcp-server-names', 'other', '--allowed-tools', 'wtool'])).toContain(told);
  const several = ['--allowed-mcp-server-names', 'w,v', '--allowed-tools', 'wtool'];
  expect(await ask({ w: gone, v: gone }, several)).toContain(
    'gmn: --allowed-tools wtool: there is no such tool now; one of the MCP servers w, v may have it, but none of them offers it\n',
  );
  // Where all servers are there and known, a name that nobody has is still a mistake.
  const wrong = ['--allowed-mcp-server-names', 'w', '--allowed-tools', 'wtool', 'x'];
  expect(await callGmn(t, wrong, { script: [], home: home({ w: GOOD }) })).toMatchObject({
    stdout: '',
    stderr: expect.stringContaining('Error: there is no tool wtool\n'),
    exitCode: 1,
  });
});

test('a chat has all configured servers, --no-mcp none', async (t) => {
  const servers = home({ files: { ...GOOD, trust: true }, both: { command: 'x', url: 'http://127.0.0.1:1' } });
  const gemini = await fakeGemini(t, [reply(call('echo', { message: 'hi' })), reply('done')]);
  const chat = await pipedChat(t, ['x'], { gemini, home: servers });
  expect(chat.stdout).toBe('done\n');
  expect(chat.stderr).toContain('MCP server both is not used: it has command and url, but can be of one kind only\n');
  expect(declared(gemini)).toContain('echo');
  expect(answered(gemini).response).toEqual({ output: 'hi', ...UNTRUSTED });
  const plain = await fakeGemini(t, [reply('hi')]);
  await pipedChat(t, ['x'], { gemini: plain, home: servers, args: ['--no-mcp'] });
  expect(declared(plain)).not.toContain('echo');
});

test('the second one-shot knows the tools without starting the server', async (t) => {
  const here = mcpPlace(t, { files: GOOD });
  const log = join(here.root, 'log');
  here.write(here.file, JSON.stringify({ mcpServers: { files: { ...GOOD, env: { GMN_TEST_LOG: log } } } }));
  const gemini = await fakeGemini(t, [reply('a'), reply('b')]);
  Object.assign(here.env, { GEMINI_API_KEY: 'test-key-0123456789', GOOGLE_GEMINI_BASE_URL: gemini.url });
  await here.run(['--allowed-mcp-server-names', 'files', 'x']);
  const first = readFileSync(log, 'utf8');
  await here.run(['--allowed-mcp-server-names', 'files', 'x']);
  expect(readFileSync(log, 'utf8')).toBe(first);
  expect(gemini.requests.map(({ body }) => body.tools[0].functionDeclarations.length)).toEqual([14, 14]);
});

test('looking at all servers, or checking them, teaches the next one-shot what they offer', async (t) => {
  for (const look of [
    ['mcp', 'tools'],
    ['mcp', 'list', '--check'],
  ]) {
    const here = mcpPlace(t);
    const log = join(here.root, 'log');
    here.write(here.file, JSON.stringify({ mcpServers: { files: { ...GOOD, env: { GMN_TEST_LOG: log } } } }));
    const gemini = await fakeGemini(t, [reply('a')]);
    Object.assign(here.env, { GEMINI_API_KEY: 'test-key-0123456789', GOOGLE_GEMINI_BASE_URL: gemini.url });
    await here.run(look);
    const before = readFileSync(log, 'utf8');
    await here.run(['--allowed-mcp-server-names', 'files', 'x']);
    expect(readFileSync(log, 'utf8')).toBe(before);
    expect(declared(gemini)).toHaveLength(14);
  }
});

test('an invalid entry affects no other server, and is reported wherever it is named', async (t) => {
  const mcpServers = { both: { command: 'x', url: 'http://127.0.0.1:1' }, files: GOOD };
  const why = 'MCP server both is not used: it has command and url, but can be of one kind only\n';
  for (const args of [
    ['--mcp-config', 'mcp.json'],
    ['--allowed-mcp-server-names', 'both,files'],
  ]) {
    const gemini = await fakeGemini(t, [reply('hi')]);
    const files = { 'mcp.json': JSON.stringify({ mcpServers }) };
    const gmn = await callGmn(t, [...args, 'x'], { gemini, files, home: home(mcpServers) });
    expect([gmn.stdout, gmn.exitCode]).toEqual(['hi\n', 0]);
    expect(gmn.stderr.replace(/^gmn: .*?: MCP/, 'MCP')).toBe(why);
    expect(declared(gemini)).toHaveLength(14);
  }
});

test('--dry-run and --count-tokens have the tools that are known, and start nothing', async (t) => {
  const here = mcpPlace(t);
  const log = join(here.root, 'log');
  here.write(here.file, JSON.stringify({ mcpServers: { files: { ...GOOD, env: { GMN_TEST_LOG: log } } } }));
  Object.assign(here.env, { GEMINI_API_KEY: 'test-key-0123456789' });
  const flags = ['--allowed-mcp-server-names', 'files', '--dry-run', 'x'];
  expect((await here.run(flags)).stderr).toContain(
    'gmn: MCP server files: its tools are not known yet, and a preview starts nothing. To load them, run: gmn mcp tools files\n',
  );
  expect(existsSync(log)).toBe(false);
  await here.run(['mcp', 'tools', 'files']);
  const before = readFileSync(log, 'utf8');
  const { stdout, exitCode } = await here.run(flags);
  expect([exitCode, stdout.match(/"name": "echo"/g)?.length]).toEqual([0, 1]);
  expect(readFileSync(log, 'utf8')).toBe(before);
});

test.for([
  [[], /\[… 10\d+ characters are left out here; they are lost; ask for less …\]/],
  [['--tools', 'read'], /left out here; read_file \S+[\\/]1\.txt shows them …\]/],
] as const)('with %j, an answer that is too long is kept only if the model can read it', async ([flags, words], t) => {
  const message = `${'a'.repeat(50_000)}\nthe end`;
  const gemini = await fakeGemini(t, [reply(call('echo', { message })), reply('done')]);
  const servers = home({ files: { ...GOOD, trust: true } });
  await callGmn(t, ['--allowed-mcp-server-names', 'files', ...flags, 'x'], { gemini, home: servers });
  expect(answered(gemini).response.output).toMatch(words);
});

test('only a server that the user trusts learns the directories', async (t) => {
  const told = async (entry: object) => {
    const gemini = await fakeGemini(t, [reply(call('roots', {})), reply('done')]);
    const flags = ['--allowed-mcp-server-names', 'files', '--allowed-tools', 'roots'];
    const here = place(t, { gemini, home: home({ files: entry }) });
    await callGmnIn(t, here, [...flags, 'x']);
    return { said: JSON.parse(answered(gemini).response.output), cwd: here.cwd };
  };
  expect((await told(GOOD)).said).toEqual({ code: -32601 });
  const { said, cwd } = await told({ ...GOOD, trust: true });
  expect(said).toEqual({ roots: [{ uri: pathToFileURL(cwd).href }] });
});

test.for(['mcp_files_add', 'files__add', 'add'])('tools.exclude takes the tool of a server: %s', async (name, t) => {
  const gemini = await fakeGemini(t, [reply('done')]);
  const settings = { mcpServers: { files: GOOD }, tools: { exclude: [name] } };
  await callGmn(t, ['--allowed-mcp-server-names', 'files', 'x'], { gemini, settings });
  const [{ functionDeclarations = [] } = {}] = gemini.requests[0]?.body.tools ?? [];
  const names = functionDeclarations.map((tool: { name: string }) => tool.name);
  expect([names.includes('echo'), names.includes('add')]).toEqual([true, false]);
});

test('a model, a flag and a setting may use the official name of a tool', async (t) => {
  for (const how of ['flag', 'setting'] as const) {
    const gemini = await fakeGemini(t, [reply(call('mcp_files_echo', { message: 'hi' })), reply('done')]);
    const settings = {
      mcpServers: { files: GOOD },
      ...(how === 'setting' ? { tools: { allowed: ['mcp_files_echo'] } } : {}),
    };
    const flags = how === 'flag' ? ['--allowed-tools', 'mcp_files_echo'] : [];
    const gmn = await callGmn(t, ['--allowed-mcp-server-names', 'files', ...flags, 'x'], { gemini, settings });
    expect([how, gmn.stdout, gemini.requests[1]?.results]).toEqual([how, 'done\n', [{ output: 'hi', ...UNTRUSTED }]]);
  }
});
