import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { approvalPolicy } from '../../../../src/approval/policy.ts';
import { AppError } from '../../../../src/core/error.ts';
import { UNTRUSTED } from '../../../../src/core/tool.ts';
import { listConfiguredServers } from '../../../../src/mcp/client/servers.ts';
import { recordTools } from '../../../../src/mcp/client/tools/cache.ts';
import { createNamer } from '../../../../src/mcp/client/tools/names.ts';
import { computeShares, registerTools } from '../../../../src/mcp/client/tools/registration.ts';
import { isRunning } from '../../../support/mcp-place.ts';
import { systemMode } from '../../../support/posix.ts';
import { httpPeer, streamable } from '../http-peer.ts';
import { configured, good, hostile, SEEN, settings, signal, toolset } from '../toolset-support.ts';

test('remote tools are plain tools: described, previewed with their real names, called', async (t) => {
  const { tool } = await toolset(t, { 'my files': good }).open();
  const echo = tool('echo');
  expect(echo).toMatchObject({
    description: 'Says the same.',
    effect: 'execute',
    input: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
  });
  expect(await echo.preview?.({ message: 'hi' }, signal)).toEqual({
    kind: 'text',
    text: 'MCP server: my files\nTool: echo\nArguments: {\n  "message": "hi"\n}',
  });
  expect(await echo.invoke({ message: 'hi' }, signal)).toMatchObject({ ok: true, response: { output: 'hi' } });
  expect(await tool('fail').invoke({}, signal)).toEqual({
    ok: false,
    response: { error: 'it did not work', ...UNTRUSTED },
  });
});

test('no claim of a tool lowers the bar: every one of them may do anything', () => {
  const annotations = { readOnlyHint: true, destructiveHint: false, title: 'Only looks' };
  const remote = {
    name: 'look',
    title: 'Only looks',
    description: 'Looks.',
    inputSchema: { type: 'object' },
    annotations,
  };
  const call = () => Promise.reject(new Error('nothing is called here'));
  const { registered } = registerTools([{ server: configured('a'), tools: [remote] }], {
    reserved: [],
    servers: [],
    call,
  });
  const [{ tool } = {}] = registered;
  expect(tool).toMatchObject({ name: 'look', effect: 'execute' });
  const policy = approvalPolicy({ mode: 'auto_edit', allowed: [], isTrusted: () => false });
  expect(tool && policy.rule({ tool, args: {} })).toMatchObject({ kind: 'ask' });
});

test('what a tool gives reaches the model as text, media and structure', async (t) => {
  const { tool } = await toolset(t, { a: good }).open();
  const { response, media } = await tool('mixed').invoke({}, signal);
  expect(response).toEqual({
    output: [
      'words',
      '[image, image/png, 70 B: attached]',
      '[audio, audio/wav, 4 B: of a type that cannot be shown]',
      '[resource memo://1 (first)]',
      '[resource memo://1]\nkept text',
      '[resource memo://2] [file, application/pdf, 5 B: of a type that cannot be shown]',
      '[a part of the type hologram was skipped: it cannot be shown]',
    ].join('\n'),
    structured: { answer: 42 },
    ...UNTRUSTED,
  });
  expect(media?.map(({ inlineData }) => inlineData.mimeType)).toEqual(['image/png']);
});

test('once its tools are known, a server is started only when one is called', async (t) => {
  const { context, log, messages, open } = toolset(t, {});
  const entry = { a: { ...good, env: { GMN_TEST_LOG: log } } };
  await (await open(entry)).close();
  const before = messages().length;
  const { tool, tools } = await open(entry);
  expect(tools).toHaveLength(14);
  expect(messages()).toHaveLength(before);
  expect(await tool('add').invoke({ a: 1, b: 2 }, signal)).toMatchObject({ ok: true, response: { output: '3' } });
  expect(messages().length).toBeGreaterThan(before);
  const cache = join(context.homes().gmn, 'cache', 'mcp');
  for (const name of readdirSync(cache)) expect(statSync(join(cache, name)).mode & 0o777).toBe(systemMode(0o600));
});

test('a list that was kept for another definition, or that is broken, is not used', async (t) => {
  const { context, open } = toolset(t, { a: good });
  await (await open()).close();
  const cache = join(context.homes().gmn, 'cache', 'mcp');
  for (const name of readdirSync(cache)) writeFileSync(join(cache, name), '{"version": 1, "tools": 7');
  expect((await open()).tools).toHaveLength(14);
  expect((await open({ a: { ...good, cwd: '.' } })).tools).toHaveLength(14);
  expect(readdirSync(cache)).toHaveLength(2);
});

test('a tool that says something else about itself is not offered until a person has seen it', async (t) => {
  const { context, open } = toolset(t, { a: good });
  const first = await open();
  await first.close();
  const echo = first.table.find(({ remote }) => remote.name === 'echo')?.remote;
  if (echo === undefined) throw new Error('no echo');
  // As if an earlier version had been seen.
  await recordTools(SEEN, [{ ...echo, description: 'Says something.' }], { context, which: 'all' });
  const second = await open();
  expect(second.servers.map(({ withheld }) => withheld)).toEqual([['echo']]);
  expect(second.tools.map(({ name }) => name)).not.toContain('echo');
  expect(second.notices).toEqual([
    'MCP server a: echo not offered: its definition has changed. To review and allow it, run in a terminal: gmn mcp tools a',
  ]);
  await recordTools(SEEN, [echo], { context, which: 'all' });
  expect((await open()).tools.map(({ name }) => name)).toContain('echo');
});

test('a tool that changed behind a kept list is not run', async (t) => {
  const { context, open } = toolset(t, { a: good });
  const first = await open();
  await first.close();
  const echo = first.table.find(({ remote }) => remote.name === 'echo')?.remote;
  if (echo === undefined) throw new Error('no echo');
  const cache = join(context.homes().gmn, 'cache', 'mcp');
  for (const name of readdirSync(cache)) {
    const path = join(cache, name);
    const text = readFileSync(path, 'utf8').replace('Says the same.', 'Is harmless.').replaceAll('"add"', '"gone"');
    writeFileSync(path, text);
  }
  await recordTools(SEEN, [{ ...echo, description: 'Is harmless.' }], { context, which: 'all' });
  const { tool } = await open();
  expect(await tool('echo').invoke({ message: 'x' }, signal)).toEqual({
    ok: false,
    response: {
      error:
        'echo was not run: its definition has changed. The user can review and allow it in a terminal with: gmn mcp tools a',
    },
  });
  expect(await tool('gone').invoke({}, signal)).toEqual({
    ok: false,
    response: { error: 'the MCP server a no longer has the tool gone' },
  });
});

test('one bad server is reported and hurts only itself', async (t) => {
  const { tools, notices, tool } = await toolset(t, {
    bad: { command: './nothing' },
    silent: { ...hostile('silent'), timeout: 1000 },
    good,
  }).open();
  expect(tools).toHaveLength(14);
  expect(notices).toEqual([
    'MCP server bad: the connection was lost during initialize. There is no program ./nothing. See its definition: gmn mcp get bad',
    'MCP server silent: no answer to initialize within 1 s. Start it by hand once to see what it waits for.',
  ]);
  expect(await tool('echo').invoke({ message: 'x' }, signal)).toMatchObject({ ok: true });
});

test('a server that is not ready in time is skipped', async (t) => {
  const { tools, notices } = await toolset(t, { silent: hostile('silent') }, { maxWaitMs: 300 }).open();
  expect({ tools, notices }).toEqual({
    tools: [],
    notices: ['MCP server silent: it was not ready in time, and is not used'],
  });
});

test('includeTools chooses, excludeTools wins, two servers share no name', async (t) => {
  const { table } = await toolset(t, {
    a: { ...good, includeTools: ['echo', 'add', 'fail'], excludeTools: ['fail'] },
    b: { ...good, includeTools: ['add', 'wait'] },
  }).open();
  expect(table.map(({ tool, server, remote }) => [tool.name, server.name, remote.name])).toEqual([
    ['echo', 'a', 'echo'],
    ['add', 'a', 'add'],
    ['b__add', 'b', 'add'],
    ['wait', 'b', 'wait'],
  ]);
});

test('more tools than the API takes are skipped, and that is reported', async (t) => {
  const { tools, notices } = await toolset(t, { many: hostile('many') }).open();
  expect(tools).toHaveLength(499);
  expect(notices).toEqual([
    'MCP server many: only the first 2000 tools are used',
    'MCP server many: t499, t500, t501 and 1498 more not offered: there are too many; choose with includeTools',
  ]);
});

test('a server with too many tools takes no place from another, whichever comes first', async (t) => {
  const { table } = await toolset(t, { many: hostile('many'), good }).open();
  const count = (name: string) => table.filter(({ server }) => server.name === name).length;
  expect([count('many'), count('good')]).toEqual([500 - 1 - 14, 14]);
});

test('shares are fair: never more than there is room, and all that one wants if it is no more than its part', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(2000), { minLength: 1, maxLength: 20 }), fc.nat(500), (counts, room) => {
      const shares = computeShares(counts, room);
      const sum = (list: readonly number[]) => list.reduce((a, b) => a + b, 0);
      expect(sum(shares)).toBe(Math.min(room, sum(counts)));
      for (const [index, count] of counts.entries()) {
        expect(shares[index]).toBeLessThanOrEqual(count);
        if (count <= Math.floor(room / counts.length)) expect(shares[index]).toBe(count);
      }
    }),
  );
});

test('a server runs unasked if the user’s own file trusts it, or the command line names it', async (t) => {
  const entries = {
    mine: { ...good, trust: true, includeTools: ['echo'] },
    other: { ...good, includeTools: ['echo', 'add'] },
  };
  const trusted = async (allowedTools: readonly string[]) => {
    const { tools, isTrusted } = await toolset(t, entries, { allowedTools }).open();
    return tools.filter(isTrusted).map(({ name }) => name);
  };
  expect(await trusted([])).toEqual(['echo']);
  expect(await trusted(['other__*'])).toEqual(['echo', 'other__echo', 'add']);
  expect(await trusted(['other__add'])).toEqual(['echo', 'add']);
  // As the official CLI names them.
  expect(await trusted(['mcp_other_add'])).toEqual(['echo', 'add']);
  expect(await trusted(['mcp_other_*'])).toEqual(['echo', 'other__echo', 'add']);
  expect(await trusted(['mcp_oth_*', 'mcp_other_ad'])).toEqual(['echo']);
});

test('an official name that could be two tools, or two servers, allows none, and no tool of another server takes it', async (t) => {
  const entries = { a_b: { ...good, includeTools: ['add'] }, 'a.b': good, 'a b': { ...good, includeTools: ['add'] } };
  const { tools, isTrusted } = await toolset(t, entries, { allowedTools: ['mcp_a_b_add', 'mcp_a_b_*'] }).open();
  expect(tools.filter(isTrusted).map(({ name }) => name)).toEqual([]);
  const nameTool = createNamer([], ['evil', 'files']);
  expect(nameTool({ server: 'evil', tool: 'mcp_files_read' })).toBe('evil__mcp_files_read');
});

test('trust written by a folder or by the machine does not count', () => {
  for (const scope of ['workspace', 'system'] as const) {
    const { servers } = listConfiguredServers(settings({ a: { ...good, trust: true } }, scope));
    expect(servers.map(({ isTrusted }) => isTrusted)).toEqual([false]);
  }
});

test('a server that dies is started again for the next call, three times in all', async (t) => {
  const { tool } = await toolset(t, { a: good }).open();
  for (let round = 0; round < 3; round += 1) {
    expect(await tool('die').invoke({}, signal)).toEqual({
      ok: false,
      response: {
        error:
          'MCP server a: the connection was lost during tools/call. It ended with exit code 3. It said: fatal: the disk is gone',
      },
    });
  }
  expect(await tool('echo').invoke({ message: 'x' }, signal)).toEqual({
    ok: false,
    response: { error: 'MCP server a: it ended 3 times, and is not started again' },
  });
});

test('a server that ends after every call is started again as often as it is wanted', async (t) => {
  const { tool, pool, servers } = await toolset(t, { a: hostile('once') }).open();
  const [{ server }] = servers as [(typeof servers)[number]];
  for (let round = 0; round < 6; round += 1) {
    const connection = await pool.connect(server, signal);
    expect(await tool('speak').invoke({ n: round }, signal)).toMatchObject({
      ok: true,
      response: { output: `spoken ${round}` },
    });
    await vi.waitFor(() => expect(connection.isOpen).toBe(false));
  }
});

test('a server that ends after every call loses none of those that follow at once', async (t) => {
  const { root, open } = toolset(t, {});
  const pids = join(root, 'pids');
  const { tool } = await open({ a: { ...hostile('once'), env: { GMN_TEST_PIDS: pids } } });
  for (let round = 0; round < 3; round += 1) {
    expect(await tool('speak').invoke({ n: round }, signal)).toMatchObject({
      ok: true,
      response: { output: `spoken ${round}` },
    });
  }
  expect(readFileSync(pids, 'utf8').trim().split('\n')).toHaveLength(3);
});

test('a server that ends after every call loses none of five at once, and does none twice', async (t) => {
  const { root, open } = toolset(t, {});
  const pids = join(root, 'pids');
  const { tool } = await open({ a: { ...hostile('once'), env: { GMN_TEST_PIDS: pids } } });
  const rounds = [1, 2, 3, 4, 5];
  expect(await Promise.all(rounds.map((n) => tool('speak').invoke({ n }, signal)))).toMatchObject(
    rounds.map((n) => ({ ok: true, response: { output: `spoken ${n}` } })),
  );
  expect(readFileSync(pids, 'utf8').trim().split('\n')).toHaveLength(5);
});

test('a call that is given up while it waits for another holds up none after it', async (t) => {
  const { log, messages, open } = toolset(t, {});
  const { tool } = await open({ a: { ...good, env: { GMN_TEST_LOG: log } } });
  const [first, second] = [new AbortController(), new AbortController()];
  const reason = new AppError('interrupted', 'Interrupted.');
  const hanging = tool('wait').invoke({}, first.signal);
  await vi.waitFor(() => expect(messages().at(-1)).toMatchObject({ method: 'tools/call' }));
  const waiting = tool('echo').invoke({ message: 'never sent' }, second.signal);
  const third = tool('echo').invoke({ message: 'sent' }, signal);
  second.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  first.abort(reason);
  await expect(hanging).rejects.toBe(reason);
  expect(await third).toMatchObject({ ok: true, response: { output: 'sent' } });
  expect(JSON.stringify(messages())).not.toContain('never sent');
});

test('calls to a server that has stayed after its work go out at once', async (t) => {
  const { log, messages, open } = toolset(t, {});
  const { tool } = await open({ a: { ...good, env: { GMN_TEST_LOG: log } } });
  await tool('echo').invoke({ message: 'one' }, signal);
  await tool('echo').invoke({ message: 'two' }, signal);
  const abort = new AbortController();
  const hanging = tool('wait').invoke({}, abort.signal);
  await vi.waitFor(() => expect(messages().at(-1)).toMatchObject({ params: { name: 'wait' } }));
  expect(await tool('echo').invoke({ message: 'three' }, signal)).toMatchObject({
    ok: true,
    response: { output: 'three' },
  });
  abort.abort(new AppError('interrupted', 'Interrupted.'));
  await expect(hanging).rejects.toThrow('Interrupted.');
});

test('whoever waits for a server after it has died gets the same new process, and none is left', async (t) => {
  const { root, open } = toolset(t, {});
  const pids = join(root, 'pids');
  const { pool, servers, close } = await open({ a: { ...hostile('die'), env: { GMN_TEST_PIDS: pids } } });
  const [{ server }] = servers as [(typeof servers)[number]];
  const first = await pool.connect(server, signal);
  await first.callTool('speak', {}).catch(() => {});
  await vi.waitFor(() => expect(first.isOpen).toBe(false));
  const [one, other, third] = await Promise.all([1, 2, 3].map(() => pool.connect(server, signal)));
  expect(one).toBe(other);
  expect(one).toBe(third);
  await close();
  const started = readFileSync(pids, 'utf8').trim().split('\n').map(Number);
  expect(started).toHaveLength(2);
  await vi.waitFor(() => expect(started.filter(isRunning)).toEqual([]));
});

test('an abort ends a call with its reason and reaches the server', async (t) => {
  const { log, messages, open } = toolset(t, {});
  const { tool } = await open({ a: { ...good, env: { GMN_TEST_LOG: log } } });
  const abort = new AbortController();
  const reason = new AppError('interrupted', 'Interrupted.');
  const call = tool('wait').invoke({}, abort.signal);
  await vi.waitFor(() => expect(messages().at(-1)).toMatchObject({ method: 'tools/call' }));
  abort.abort(reason);
  await expect(call).rejects.toBe(reason);
  await vi.waitFor(() => expect(messages().at(-1)).toMatchObject({ method: 'notifications/cancelled' }));
});

test('a session that the server has dropped is started again', async (t) => {
  const serve = streamable('json');
  let isForgotten = false;
  const { url, received } = await httpPeer(t, (request, response) => {
    const isGreeting = request.body.includes('"initialize"');
    if (isGreeting) isForgotten = false;
    return isForgotten ? void response.writeHead(404).end() : serve(request, response);
  });
  const { tool } = await toolset(t, { a: { httpUrl: url } }).open();
  isForgotten = true;
  expect(await tool('echo').invoke({ message: 'hi' }, signal)).toMatchObject({
    ok: true,
    response: { output: 'remote hi' },
  });
  expect(received.filter(({ body }) => body.includes('"initialize"'))).toHaveLength(2);
});

test('a server that the user trusts may say how it wants to be used', async (t) => {
  const entries = { mine: { ...good, trust: true }, other: good };
  const { open } = toolset(t, entries);
  const told = [{ server: 'mine', text: 'Use echo.' }];
  const first = await open();
  expect(first.instructions).toEqual(told);
  await first.close();
  expect((await open()).instructions).toEqual(told);
});

test('the settings say which servers there are, which are off, and which are none', () => {
  const mcp = { allowed: ['a', 'b', 'c', 'mcp'], excluded: ['b'] };
  const serverCommand = { name: 'mcp', definition: `node 'my server.js'`, scope: 'user', file: 'config.json' } as const;
  const all = listConfiguredServers({ ...settings({ a: good, b: good, c: {}, d: good }, 'user', mcp), serverCommand });
  expect(all.servers.map(({ name }) => name)).toEqual(['a', 'mcp']);
  expect(all.servers[1]?.definition).toMatchObject({ command: 'node', args: ['my server.js'] });
  expect(all.disabled.map(({ name, why }) => [name, why])).toEqual([
    ['b', 'disabled'],
    ['d', 'not in mcp.allowed'],
  ]);
  expect(all.notices).toEqual(['settings.json: MCP server "c" is not used: it has none of command, url, httpUrl']);
});
