import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { TurnEvent } from '../../../src/core/event.ts';
import { NO_USAGE } from '../../../src/core/usage.ts';
import type { Engine, TurnRequest } from '../../../src/mcp/server/engine.ts';
import { NO_PROGRESS } from '../../../src/mcp/server/progress.ts';
import { openMcpService } from '../../../src/mcp/server/service.ts';
import { TOOL_GROUPS } from '../../../src/mcp/server/tool.ts';
import { selectServedTools } from '../../../src/mcp/server/tools/list.ts';
import { systemClock } from '../../../src/platform/runtime/clock.ts';
import { call, chunk, events, fakeGemini, reply } from '../../support/gemini.ts';
import { echo, serve } from './support.ts';

const PAGE = readFileSync(new URL('../../../docs/mcp-server.md', import.meta.url), 'utf8');
const FOLDER = fileURLToPath(new URL('.', import.meta.url));
const write = call('write_file', { file_path: 'made.txt', content: 'x' });

test('every defect in the table of docs/mcp-server.md names tests that are there', () => {
  const [, section = ''] = PAGE.split('## What goes wrong elsewhere');
  const rows = [...(section.split(/^## /m)[0] ?? '').matchAll(/^\| (.+?) \| (.+?) \| (.+) \|$/gm)].slice(1);
  expect(rows.length).toBeGreaterThan(35);
  const sources = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.test.ts'),
  );
  const texts = sources.map((name) => readFileSync(`${FOLDER}${name}`, 'utf8')).join('\n');
  const missing = rows.flatMap(([, , , named = '']) => {
    const tests = [...named.matchAll(/“([^”]+)”/g)].map(([, title = '']) => title);
    return tests.length === 0 ? [named] : tests.filter((title) => !texts.includes(`'${title}'`));
  });
  expect(missing).toEqual([]);
});

test('docs/mcp-server.md names every tool and every argument there is', () => {
  for (const { name, input } of selectServedTools(TOOL_GROUPS)) {
    const names = [name, ...Object.keys(Object(input.properties))];
    expect(names.filter((word) => !new RegExp(`\\b${word}\\b`).test(PAGE))).toEqual([]);
  }
});

test('an answer that breaks off is a failure, with what had come', async (t) => {
  const broken = events([chunk([{ text: 'so far' }])]);
  const gemini = await fakeGemini(t, [broken, broken]);
  const server = await serve(t, { gemini });
  const { isError, structuredContent } = await server.call('delegate', { prompt: 'x' });
  expect([isError, structuredContent.code, structuredContent.partial_output]).toEqual([
    true,
    'EXECUTION_FAILED',
    'so far',
  ]);
  expect((await server.call('chat', { prompt: 'x' })).isError).toBe(true);
});

test('a follow-up may do no more than the first turn', async (t) => {
  const gemini = await fakeGemini(t, [echo, reply(write), reply('I could not.')]);
  const server = await serve(t, { gemini });
  const { session_id } = (await server.call('delegate', { prompt: 'one' })).structuredContent;
  const { structuredContent } = await server.call('delegate', { prompt: 'two', session_id });
  expect(structuredContent.refused).toHaveLength(1);
  expect(readdirSync(server.cwd)).toEqual([]);
});

test('two calls at once each get their own progress', async (t) => {
  const gemini = await fakeGemini(t, [echo, echo]);
  const server = await serve(t, { gemini });
  const tokens = ['one', 'two'];
  await Promise.all(tokens.map((token) => server.call('delegate', { prompt: token }, { progressToken: token })));
  for (const token of tokens) {
    const told = server.lines.filter(({ params }) => params?.progressToken === token);
    expect(told.length).toBeGreaterThan(0);
    expect(told.map(({ params }) => params.progress)).toEqual(told.map((_, index) => index + 1));
  }
});

test('an image behind an address is fetched and sent as an image', async () => {
  const bytes = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==',
    'base64',
  );
  const asked: TurnRequest[] = [];
  const engine: Pick<Engine, 'fetchBytes' | 'startTurn'> = {
    fetchBytes: async () => bytes,
    async startTurn(request) {
      asked.push(request);
      return { events: answered(), refused: [] };
    },
  };
  const { host, tools } = openMcpService({
    name: 'gmn',
    version: '0',
    groups: TOOL_GROUPS,
    roots: [],
    startDirectory: '/',
    showsSession: false,
    allowed: { write: false, shell: false },
    clock: systemClock,
    jobDirectory: () => '/nowhere',
    maxRunning: 1,
    maxQueued: 1,
    openEngine: async () => engine as Engine,
  });
  const { signal } = new AbortController();
  const call = { host, progress: NO_PROGRESS, signal };
  const tool = tools.find(({ name }) => name === 'analyze_image');
  await tool?.call({ prompt: 'What is it?', imageUrl: 'https://example.com/red.png' }, call);
  expect(asked[0]?.prompt.parts).toContainEqual({
    inlineData: { mimeType: 'image/png', data: bytes.toString('base64') },
  });
});

async function* answered(): AsyncGenerator<TurnEvent, void> {
  yield { type: 'end', finishReason: 'STOP', model: 'm', usage: NO_USAGE };
}
