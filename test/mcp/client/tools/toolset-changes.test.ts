import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import type { JsonObject } from '../../../../src/core/json.ts';
import type { Tool } from '../../../../src/core/tool.ts';
import { isToolAllowed } from '../../../../src/mcp/client/tools/allowed.ts';
import { readKnownNames, recordTools } from '../../../../src/mcp/client/tools/cache.ts';
import type { RegisteredTool } from '../../../../src/mcp/client/tools/registration.ts';
import { surroundings } from '../support.ts';
import { configured, good, SEEN, signal, toolset } from '../toolset-support.ts';

test('a name on the allow list means one tool: nobody inherits it from a server that is absent', async (t) => {
  const gone = { command: './nothing' };
  const b = { ...good, includeTools: ['echo', 'add'] };
  const trusted = async (first: JsonObject, allowedTools: readonly string[], seen: readonly string[] = []) => {
    const { context, open } = toolset(t, { a: first, b }, { allowedTools });
    const tools = seen.map((name) => ({ name, description: '', inputSchema: {} }));
    await recordTools(SEEN, tools, { context, which: 'all' });
    const { tools: offered, isTrusted } = await open();
    return offered.filter(isTrusted).map(({ name }) => name);
  };
  expect(await trusted({ ...good, includeTools: ['echo'] }, ['echo'])).toEqual(['echo']);
  expect(await trusted(gone, ['echo'])).toEqual([]);
  expect(await trusted(gone, ['echo', 'add'], ['echo'])).toEqual(['add']);
  expect(await trusted(gone, ['b__echo'])).toEqual(['echo']);
});

test('a name that could mean the tools of two servers means one of them, or none', () => {
  const entry = (server: string, remote: string, name: string) => ({
    server: { ...configured(server), isTrusted: false },
    remote: { name: remote, description: '', inputSchema: {} },
    tool: { name } as Tool,
  });
  const allowed = (table: readonly RegisteredTool[]) =>
    table
      .filter((each) => isToolAllowed(each, { patterns: ['bad__b__c'], table, servers: [], absent: [] }))
      .map(({ tool }) => tool.name);
  expect(allowed([entry('bad', 'b__c', 'bad__b__c'), entry('bad__b', 'c', 'c')])).toEqual(['bad__b__c']);
  expect(allowed([entry('bad', 'b__c', 'other'), entry('bad__b', 'c', 'c')])).toEqual([]);
  expect(allowed([entry('bad__b', 'c', 'c')])).toEqual(['c']);
});

test('tools that a server has since, or gets later, are offered; what had a name keeps it', async (t) => {
  const { open } = toolset(t, {
    a: { ...good, includeTools: ['add'] },
    b: { ...good, includeTools: ['grow', 'grown'] },
  });
  await (await open()).close();
  const set = await open();
  const changes = vi.fn();
  const names = () => set.tools.map(({ name }) => name);
  set.watch(changes, signal);
  expect(names()).toEqual(['add', 'grow']);
  const grow = set.tool('grow');
  await grow.invoke({}, signal);
  await vi.waitFor(() => expect(names()).toEqual(['add', 'grow', 'grown']), 5000);
  expect(changes.mock.calls).toEqual([[[]]]);
  expect(set.isTrusted(grow)).toBe(false);
});

test('a tool whose declaration changes during a chat is reported once', async (t) => {
  const { context, open } = toolset(t, { a: { ...good, includeTools: ['grow', 'grown'] } });
  const grown = { name: 'grown', description: 'Old.', inputSchema: {} };
  await recordTools(SEEN, [grown], { context, which: 'all' });
  const set = await open();
  const changes = vi.fn();
  set.watch(changes, signal);
  await set.tool('grow').invoke({}, signal);
  await vi.waitFor(() => expect(set.servers[0]?.withheld).toEqual(['grown']), 5000);
  await set.tool('grow').invoke({}, signal);
  expect(changes.mock.calls).toEqual([
    [
      [
        'MCP server a: grown not offered: its definition has changed. To review and allow it, run in a terminal: gmn mcp tools a',
      ],
    ],
  ]);
});

test('a server that was not ready in time joins later', async (t) => {
  const { context, open } = toolset(t, {}, { maxWaitMs: 1 });
  const gate = join(context.cwd, 'gate');
  const set = await open({ slow: { ...good, env: { GMN_TEST_GATE: gate } } });
  expect(set.tools).toEqual([]);
  writeFileSync(gate, '');
  set.watch(() => {}, signal);
  await vi.waitFor(() => expect(set.tools).toHaveLength(14), 5000);
});

test('on its first run a server is asked once for its tools', async (t) => {
  const { log, messages, open } = toolset(t, {});
  const { tool } = await open({ a: { ...good, env: { GMN_TEST_LOG: log } } });
  await tool('echo').invoke({ message: 'x' }, signal);
  const first = messages().filter(
    ({ method, params }) => method === 'tools/list' && !JSON.stringify(params).includes('cursor'),
  );
  expect(first).toHaveLength(1);
});

test('a server of the same name in another file has a memory of its own', async (t) => {
  const { context, open } = toolset(t, { a: { ...good, includeTools: ['echo'] } });
  const other = { name: 'echo', description: 'Another.', inputSchema: {} };
  await recordTools({ ...SEEN, file: 'other.json' }, [other], { context, which: 'all' });
  await recordTools({ ...SEEN, scope: 'workspace' }, [other], { context, which: 'all' });
  expect((await open()).tools.map(({ name }) => name)).toEqual(['echo']);
});

test('what several see at once is all remembered', async (t) => {
  const { context: real } = surroundings(t);
  // Whoever waits for two seconds writes without the lock: on a busy machine, that would be some of them.
  const began = real.clock.now();
  const context = { ...real, clock: { ...real.clock, now: () => began } };
  const tools = Array.from({ length: 8 }, (_, index) => ({ name: `t${index}`, description: '', inputSchema: {} }));
  await Promise.all(tools.map((tool) => recordTools(SEEN, [tool], { context, which: 'new' })));
  expect([...(readKnownNames(SEEN, context) ?? [])].sort()).toEqual(tools.map(({ name }) => name));
});
