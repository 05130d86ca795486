import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkServers } from '../../src/commands/mcp-check.ts';
import { configuredServers } from '../../src/mcp/client/servers.ts';
import { surroundings } from '../mcp/support.ts';
import { settings } from '../mcp/toolset-support.ts';

/** Answers everything; when its input ends it writes down that it is being closed, and takes its time. */
const SLOW_END = `
const { writeFileSync } = require('node:fs');
const hello = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'slow', version: '1' }, tools: [] };
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id } = JSON.parse(line);
  if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result: hello }) + '\\n');
}).on('close', () => { writeFileSync(process.argv[2], ''); setInterval(() => {}, 1000); });
`;

test('the time of a server is that to its answer, without that of its end', async (t) => {
  const around = surroundings(t);
  const closing = join(around.root, 'closing');
  const program = join(around.root, 'slow-end.cjs');
  writeFileSync(program, SLOW_END);
  const definition = { command: process.execPath, args: [program, closing] };
  const [server] = configuredServers(settings({ slow: definition })).servers;
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
