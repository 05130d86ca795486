import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkServers } from '../../../src/commands/mcp/check.ts';
import { createStartLimiter } from '../../../src/engine/tools/servers/session.ts';
import { listConfiguredServers } from '../../../src/mcp/client/servers.ts';
import { surroundings } from '../../mcp/client/support.ts';
import { settings } from '../../mcp/client/toolset-support.ts';

/** Answers everything; when its input ends it writes down that it is being closed, and takes its time. */
const SLOW_END = `
const { writeFileSync } = require('node:fs');
const hello = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'slow', version: '1' }, tools: [] };
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id } = JSON.parse(line);
  if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result: hello }) + '\\n');
}).on('close', () => { writeFileSync(process.argv[2], ''); setInterval(() => {}, 1000); });
`;

/** Writes down when it begins and when its input ends, and answers only after `--at-once` of them have begun. */
const COUNTED = `
const { appendFileSync, readFileSync, watch } = require('node:fs');
const [, , log, atOnce] = process.argv;
const note = (mark) => appendFileSync(log, mark);
const hello = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'counted', version: '1' }, tools: [] };
note('+');
const begun = new Promise((resolve) => {
  const look = () => readFileSync(log, 'utf8').split('+').length > Number(atOnce) && resolve();
  watch(log, look);
  look();
});
require('node:readline').createInterface({ input: process.stdin }).on('line', async (line) => {
  const { id } = JSON.parse(line);
  await begun;
  if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result: hello }) + '\\n');
}).on('close', () => { note('-'); process.exit(); });
`;

test('no more programs are started at once than the machine carries, and every one of them is checked', async (t) => {
  const around = surroundings(t);
  const log = join(around.root, 'log');
  const program = join(around.root, 'counted.cjs');
  writeFileSync(program, COUNTED);
  writeFileSync(log, '');
  const definition = { command: process.execPath, args: [program, log, '3'] };
  const names = Array.from({ length: 8 }, (_, index) => `s${index}`);
  const { servers } = listConfiguredServers(settings(Object.fromEntries(names.map((name) => [name, definition]))));
  const entries = servers.map((server) => ({
    name: server.name,
    scope: 'user' as const,
    file: 'settings.json',
    written: definition,
    state: { kind: 'ready' as const, server },
  }));
  const waited: (readonly string[])[] = [];
  const checked = await checkServers(
    entries,
    { ...around.context, signal: new AbortController().signal },
    { limitStarts: createStartLimiter(3), onWait: (waiting) => waited.push(waiting) },
  );
  expect(checked.servers.map(({ name, ok }) => [name, ok])).toEqual(names.map((name) => [name, true]));
  let running = 0;
  const counts = readFileSync(log, 'utf8')
    .split('')
    .map((mark) => (running += mark === '+' ? 1 : -1));
  expect([counts.length, Math.max(...counts), running]).toEqual([16, 3, 0]);
  expect(waited[2]).toEqual(['s0', 's1', 's2']);
  expect(waited.at(-1)).toEqual([]);
});

test('the time of a server is that to its answer, without that of its end', async (t) => {
  const around = surroundings(t);
  const closing = join(around.root, 'closing');
  const program = join(around.root, 'slow-end.cjs');
  writeFileSync(program, SLOW_END);
  const definition = { command: process.execPath, args: [program, closing] };
  const [server] = listConfiguredServers(settings({ slow: definition })).servers;
  const clock = { ...around.context.clock, now: () => (existsSync(closing) ? 1_000_000 : 1000) };
  const { servers } = await checkServers(
    [
      {
        name: 'slow',
        scope: 'user',
        file: 'settings.json',
        written: definition,
        state: { kind: 'ready', server: server! },
      },
    ],
    { ...around.context, clock, signal: new AbortController().signal },
  );
  expect(servers).toMatchObject([{ name: 'slow', ok: true, tools: [], ms: 0 }]);
  expect(existsSync(closing)).toBe(true);
});
