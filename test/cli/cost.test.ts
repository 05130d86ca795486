import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { startDemo } from '../../src/demo/server.ts';
import { systemClock } from '../../src/platform/runtime/clock.ts';
import { serve } from '../mcp/server/support.ts';
import { pipedChat } from '../support/chat.ts';
import { CUT, call, events, failure, fakeGemini, json, reply, type Scripted, stream } from '../support/gemini.ts';
import { callGmn, callGmnIn, parseLines, place } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';
import { runInTerminal } from '../support/pty.ts';

/** One reply with this usage, by this model. */
function billed(usageMetadata: object, part: object = { text: 'Hi.' }, modelVersion = 'gemini-2.5-pro'): Scripted {
  const candidates = [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP' }];
  return events([{ candidates, usageMetadata, modelVersion }]);
}

const READ = call('read_file', { file_path: 'a.txt' });
const files = { 'a.txt': 'hello' };

test('a run costs what its model calls cost, each at the rates of its own prompt', async (t) => {
  const gemini = await fakeGemini(t, [
    billed({ promptTokenCount: 150_000, candidatesTokenCount: 100, thoughtsTokenCount: 50 }, READ),
    billed({ promptTokenCount: 210_000, cachedContentTokenCount: 140_000, candidatesTokenCount: 300 }),
  ]);
  const { stdout } = await callGmn(t, ['--tools', 'read', '-m', 'gemini-2.5-pro', '-o', 'json', 'x'], {
    gemini,
    files,
  });
  const below = 150_000 * 1.25 + 150 * 10;
  const above = 70_000 * 2.5 + 140_000 * 0.25 + 300 * 15;
  expect(JSON.parse(stdout).cost).toBe((below + above) / 1e6);
});

test('the calls of a search count, and so does a second try for a schema', async (t) => {
  const usage = { promptTokenCount: 1000, candidatesTokenCount: 100 };
  const search = call('google_web_search', { query: 'x' });
  const gemini = await fakeGemini(t, [
    billed(usage, search, 'gemini-3.5-flash'),
    billed(usage, { text: 'found' }, 'gemini-3.5-flash'),
    billed(usage, { text: 'not JSON' }, 'gemini-3.5-flash'),
    billed(usage, { text: '[]' }, 'gemini-3.5-flash'),
  ]);
  const flags = ['--tools', 'google_web_search', '--output-schema', '{"type":"array"}', '-m', 'gemini-3.5-flash'];
  const { stdout } = await callGmn(t, [...flags, '-o', 'json', 'x'], { gemini });
  expect(JSON.parse(stdout)).toMatchObject({ response: '[]', cost: (4 * (1000 * 1.5 + 100 * 9)) / 1e6 });
});

test('what the service read in two connections is paid twice, at the rate of one prompt', async (t) => {
  const usageMetadata = { promptTokenCount: 150_000, candidatesTokenCount: 10 };
  const half = (text: string, finishReason: string, more: object): object => ({
    candidates: [{ content: { role: 'model', parts: [{ text }] }, finishReason, ...more }],
    ...{ usageMetadata, modelVersion: 'gemini-2.5-pro' },
  });
  const gemini = await fakeGemini(t, [
    events([half('Hi ', 'CONTINUATION', { continuationToken: 'more' })]),
    events([half('there.', 'STOP', {})]),
  ]);
  const { stdout } = await callGmn(t, ['-m', 'gemini-2.5-pro', '-o', 'json', 'x'], { gemini });
  expect(JSON.parse(stdout)).toMatchObject({ response: 'Hi there.', cost: (300_000 * 1.25 + 20 * 10) / 1e6 });
});

test('if the price of one call is not known, no cost is shown', async (t) => {
  const known = billed({ promptTokenCount: 10, candidatesTokenCount: 10 }, READ);
  const unknown = billed({ promptTokenCount: 10, candidatesTokenCount: 10 }, { text: 'Hi.' }, 'gemini-99');
  const gemini = await fakeGemini(t, [known, unknown]);
  const { stdout } = await callGmn(t, ['--tools', 'read', '-o', 'stream-json', 'x'], { gemini, files });
  const done = JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
  expect(done).toMatchObject({ type: 'done', usage: { promptTokenCount: 20 } });
  expect(done).not.toHaveProperty('cost');
});

test('prices of the settings win, and wrong ones are exit 4', async (t) => {
  const gemini = await fakeGemini(t, [billed({ promptTokenCount: 1000, candidatesTokenCount: 100 })]);
  const prices = { 'gemini-2.5-*': { input: 3, output: 20 } };
  const home = { '.gmn/config.json': JSON.stringify({ prices }) };
  const { stderr } = await callGmn(t, ['-u', 'x'], { gemini, home });
  expect(stderr).toMatch(/1000 in · 100 out · [\d.]+s · \$0\.005\n$/);
  const wrong = { '.gmn/config.json': '{\n  "prices": { "m": { "inputs": 3 } }\n}' };
  const gmn = await callGmn(t, ['x'], { home: wrong, env: { GEMINI_API_KEY: 'k' } });
  expect(gmn.exitCode).toBe(4);
  expect(gmn.stderr).toContain('config.json:2:13: prices must be an object with the prices of models');
});

test('--max-cost shortens answers and then stops, with what was spent and how to go on', async (t) => {
  const usage = { promptTokenCount: 1500, candidatesTokenCount: 1000 };
  const flags = ['--tools', 'read', '-m', 'gemini-2.5-pro', '--max-cost', '0.025', '-o', 'json', 'x'];
  const gmn = await callGmn(t, flags, { script: [billed(usage, READ), billed(usage, READ)], files });
  expect(gmn.exitCode).toBe(1);
  expect(JSON.parse(gmn.stdout).error).toMatchObject({
    code: 1,
    type: 'LimitError',
    message: expect.stringContaining('stopped at --max-cost: $0.024 of $0.025 is spent'),
    suggestion: expect.stringContaining('gmn -c "continue"'),
    toolCalls: [expect.anything(), expect.anything()],
  });
  const [first, second] = gmn.requests.map(({ body }) => body.generationConfig.maxOutputTokens);
  expect(first).toBeLessThan(2500);
  expect(second).toBeLessThan(first - 1000);
  expect(second).toBeGreaterThan(256);
});

/** An answer of $0.01125 that is not the end; whatever comes next has its price, too. */
const COSTLY = { promptTokenCount: 1000, candidatesTokenCount: 1000 };

const costly = (candidate: object) => ({
  ...{ candidates: [candidate], usageMetadata: COSTLY, modelVersion: 'gemini-2.5-pro' },
});
const content = { role: 'model', parts: [{ text: 'x' }] };
const unfinished = (continuationToken: string) => stream(costly({ content, continuationToken }), CUT);
const hop = (continuationToken: string) =>
  events([costly({ content, finishReason: 'CONTINUATION', continuationToken })]);
const malformed = events([costly({ finishReason: 'MALFORMED_FUNCTION_CALL' })]);

test.for([
  ['a lost connection', [unfinished('a'), unfinished('b')], []],
  ['a continuation', [hop('a'), hop('b')], []],
  ['a retry', [malformed, malformed], []],
  ['an answer that does not match its schema', [hop('a'), billed(COSTLY)], ['--output-schema', '{"type":"array"}']],
  [
    'a round of --verify',
    [billed(COSTLY), billed(COSTLY)],
    ['--tools', 'edit', '--verify', 'exit 1', '--no-agent-prompt'],
  ],
] as const)('--max-cost is asked before every request, also after %s', async ([, script, flags], t) => {
  const gemini = await fakeGemini(t, script);
  const at = place(t, { gemini });
  const words = ['-m', 'gemini-2.5-pro', '--max-cost', '0.025', '-o', 'json', ...flags, 'x'];
  const gmn = await callGmnIn(t, at, words);
  expect(JSON.parse(gmn.stdout).error).toMatchObject({
    ...{ code: 1, type: 'LimitError' },
    message: expect.stringContaining('stopped at --max-cost: $0.022 of $0.025 is spent'),
  });
  const [first, second] = gemini.requests.map(({ body }) => body.generationConfig.maxOutputTokens);
  expect(first - second).toBeGreaterThan(1000);
  expect(readUsageLines(at.home)).toMatchObject([{ kind: 'prompt', calls: [{ usage: COSTLY }, { usage: COSTLY }] }]);
});

test.for([
  ['SAFETY', [{ text: 'x' }]],
  ['RECITATION', []],
  ['MAX_TOKENS', []],
  ['blocked', []],
] as const)('an answer that is of no use is paid for: %s', async ([finishReason, parts], t) => {
  const ending =
    finishReason === 'blocked'
      ? { promptFeedback: { blockReason: 'SAFETY' } }
      : { candidates: [{ content: { role: 'model', parts }, finishReason }] };
  const usage = { promptTokenCount: 100, candidatesTokenCount: 1900 };
  const gemini = await fakeGemini(t, [events([{ ...ending, usageMetadata: usage, modelVersion: 'gemini-2.5-pro' }])]);
  const at = place(t, { gemini });
  const args = ['chat', '--tools', 'none', '-m', 'gemini-2.5-pro', '--max-cost', '0.02'];
  const { stderr } = await callGmnIn(t, at, args, 'one\ntwo\n');
  expect(stderr).toContain('stopped at --max-cost: $0.019 of $0.02 is spent');
  expect(readUsageLines(at.home)).toMatchObject([{ kind: 'chat', calls: [{ usage }] }]);
});

test('a text that would cost more than is left is not embedded', async (t) => {
  const gemini = await fakeGemini(t, []);
  const stdin = 'x'.repeat(100_000);
  const gmn = await callGmn(t, ['embed', '--max-cost', '0.001'], { gemini, stdin });
  expect(gmn).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('stopped at --max-cost') });
  const server = await serve(t, { gemini, flags: ['--max-cost', '0.001'] });
  const { isError, content } = await server.call('embed_text', { text: stdin });
  expect([isError, content[0].text]).toEqual([true, expect.stringContaining('stopped at --max-cost')]);
});

test('a text to embed costs what the service counted', async (t) => {
  const statistics = { token_count: 1_000_000 };
  const { url } = await fakeGemini(t, [json({ predictions: [{ embeddings: { values: [1], statistics } }] })]);
  const env = { GOOGLE_API_KEY: 'test-key-0123456789', GOOGLE_GENAI_USE_VERTEXAI: 'true', GOOGLE_VERTEX_BASE_URL: url };
  const server = await serve(t, { env, flags: ['--max-cost', '0.1501'] });
  expect((await server.call('embed_text', { text: 'x' })).isError).toBeUndefined();
  const { content } = await server.call('embed_text', { text: 'x'.repeat(10_000) });
  expect(content[0].text).toContain('stopped at --max-cost: $0.15 of $0.15 is spent');
});

test('an upload is estimated from its size and kind before the model is asked', async (t) => {
  const demo = await startDemo({ clock: systemClock });
  t.onTestFinished(() => demo.close());
  const mp4 = Buffer.concat([Buffer.from('\0\0\0\x18ftypmp42\0\0\0\0mp42isom'), Buffer.alloc(23_000_000)]);
  const at = place(t, { gemini: demo, files: { 'talk.mp4': mp4 } });
  const gmn = await callGmnIn(t, at, ['-m', 'gemini-2.5-flash', '--max-cost', '0.01', '-f', 'talk.mp4', 'what?']);
  expect(gmn).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('stopped at --max-cost') });
});

test('--max-cost also limits the model that answers in place of another', async (t) => {
  const busy = failure(503, 'UNAVAILABLE', 'overloaded');
  const gemini = await fakeGemini(t, [busy, billed({ promptTokenCount: 1, candidatesTokenCount: 1 })]);
  const flags = ['-m', 'gemini-2.5-flash', '--fallback', 'gemini-2.5-pro', '--retries', '0', '--max-cost', '0.02', 'x'];
  expect(await callGmn(t, flags, { gemini })).toMatchObject({ exitCode: 0 });
  // $2.50 and $10 for a million tokens.
  expect(gemini.requests.map(({ body }) => body.generationConfig.maxOutputTokens)).toEqual([7999, 1999]);
});

test.for([
  [['-m', 'gemini-99'], '--max-cost: the price of gemini-99 is not known'],
  [['--fallback', 'gemini-99'], '--max-cost: the price of gemini-99 is not known'],
] as const)('--max-cost with %j is exit 1 before any request', async ([flags, message], t) => {
  const gmn = await callGmn(t, ['--max-cost', '1', '-o', 'json', ...flags, 'x'], { script: [] });
  expect(gmn.exitCode).toBe(1);
  expect(JSON.parse(gmn.stdout).error.message).toBe(message);
});

test('a chat counts all its turns, shows what is left, and stops', async (t) => {
  const usage = { promptTokenCount: 100, candidatesTokenCount: 1900 };
  const args = ['--tools', 'none', '-m', 'gemini-2.5-pro', '--max-cost', '0.02'];
  const { stderr } = await pipedChat(t, ['one', '/stats', 'two'], { script: [billed(usage)], args });
  expect(stderr).toMatch(/1 turn · 100 in · 1900 out · [\d.]+s · \$0\.019\n--max-cost: \$0\.00088 left\n/);
  expect(stderr).toContain('stopped at --max-cost: $0.019 of $0.02 is spent');
});

test('a turn that failed is in the statistics of a chat with its tokens and its price', async (t) => {
  const usageMetadata = { promptTokenCount: 100, candidatesTokenCount: 1900 };
  const gemini = await fakeGemini(t, [events([{ candidates: [{ finishReason: 'SAFETY' }], usageMetadata }])]);
  const { stderr } = await pipedChat(t, ['one'], { gemini, args: ['--tools', 'none', '-m', 'gemini-2.5-pro'] });
  expect(stderr).toMatch(/0 turns · 100 in · 1900 out · [\d.]+s · \$0\.019\n/);
});

test('mcp serve spends no more than --max-cost, over all its calls', async (t) => {
  const usage = { promptTokenCount: 100, candidatesTokenCount: 1900 };
  const gemini = await fakeGemini(t, [billed(usage)]);
  const server = await serve(t, { gemini, flags: ['--max-cost', '0.02'] });
  const ask = () => server.call('delegate', { prompt: 'hi', model: 'gemini-2.5-pro' });
  expect((await ask()).structuredContent).toMatchObject({ status: 'completed', cost: 0.019125 });
  const { structuredContent } = await ask();
  expect(structuredContent.error).toContain('stopped at --max-cost: $0.019 of $0.02 is spent');
  expect(structuredContent.error).toContain('Whoever runs this server');
  await server.end();
  expect(readUsageLines(server.home)).toMatchObject([{ kind: 'serve', calls: [{ usage }] }]);
});

test('mcp serve ends only after the usage of its last answer is logged', async (t) => {
  const usage = { promptTokenCount: 100, candidatesTokenCount: 1900 };
  const server = await serve(t, { gemini: await fakeGemini(t, [billed(usage)]) });
  await server.call('chat', { prompt: 'hi' });
  await server.end();
  expect(readUsageLines(server.home)).toMatchObject([{ kind: 'serve', calls: [{ usage }] }]);
});

function readUsageLines(home: string): readonly unknown[] {
  const file = join(home, '.gmn/usage.jsonl');
  if (!existsSync(file)) return [];
  return parseLines(readFileSync(file, 'utf8'));
}

test('gmn usage counts a saved run with the offline model, which costs nothing', async (t) => {
  const at = place(t);
  await callGmnIn(t, at, ['--demo', '--session-name', 'trip', 'best month?']);
  const text = await callGmnIn(t, at, ['usage']);
  expect([text.stderr, text.exitCode]).toEqual(['', 0]);
  expect(text.stdout).toMatch(/^DAY +RUNS +TOKENS +COST\n[\d-]+ +1 +[1-9]\d* +\$0\n$/);
  const { stdout, stderr } = await callGmnIn(t, at, ['usage', '--json']);
  expect(stderr).toBe('');
  expect(JSON.parse(stdout).total).toEqual({ runs: 1, usage: expect.anything(), cost: 0 });
});

test('a saved run is one line of the usage log, without its words; others are none', async (t) => {
  const gemini = await fakeGemini(t, [reply('Hi.'), reply('Hi.'), reply('Hi.')]);
  const at = place(t, { gemini, env: { TZ: 'UTC' } });
  await callGmnIn(t, at, ['--no-session', 'top secret']);
  expect(readUsageLines(at.home)).toEqual([]);
  await callGmnIn(t, at, ['top secret']);
  await callGmnIn(t, at, ['chat', '-p', 'top secret'], '');
  const call = {
    ...{ model: 'gemini-2.5-flash', backend: 'gemini-api', at: expect.any(Number) },
    usage: { promptTokenCount: 5, candidatesTokenCount: 12, totalTokenCount: 17 },
  };
  const line = { at: expect.any(Number), id: expect.any(String), cwd: at.cwd, calls: [call] };
  expect(readUsageLines(at.home)).toEqual([
    { ...line, kind: 'prompt' },
    { ...line, kind: 'chat' },
  ]);
  expect(readFileSync(join(at.home, '.gmn/usage.jsonl'), 'utf8')).not.toContain('secret');
  const usage = JSON.parse((await callGmnIn(t, at, ['usage', '--by', 'directory', '--json'])).stdout);
  expect(usage).toMatchObject({
    by: 'directory',
    prices: expect.stringContaining('genai-prices'),
    total: { runs: 2, cost: 0.000063 },
  });
  expect(usage.rows).toMatchObject([{ directory: at.cwd, runs: 2, usage: { totalTokenCount: 34 }, cost: 0.000063 }]);
});

/** Runs of three days, the last of them without a price. */
function writeUsage({ home }: ReturnType<typeof place>): void {
  const line = (day: number, model: string, promptTokenCount: number): string => {
    const at = Date.now() - day * 86_400_000;
    const call = { model, at, backend: 'gemini-api', usage: { promptTokenCount, totalTokenCount: promptTokenCount } };
    return JSON.stringify({ at, kind: 'prompt', id: 'x', cwd: `${home}/a/${'long-'.repeat(12)}name`, calls: [call] });
  };
  const lines = [
    line(2, 'gemini-2.5-pro', 100_000),
    line(1, 'gemini-2.5-pro', 400_000),
    line(0, 'gemini-99', 5),
    '{"at":',
  ];
  mkdirSync(join(home, '.gmn'), { recursive: true });
  writeFileSync(join(home, '.gmn/usage.jsonl'), lines.join('\n'));
}

test('usage is a plain table in a pipe, and says what has no price', async (t) => {
  const at = place(t, { env: { TZ: 'UTC' } });
  writeUsage(at);
  const { stdout, stderr } = await callGmnIn(t, at, ['usage', '--by', 'model']);
  expect(stdout).toBe(
    [
      'MODEL           RUNS  TOKENS  COST',
      'gemini-2.5-pro  2     500000  $1.13',
      'gemini-99       1     5       -',
      'total           3     500005  $1.13+\n',
    ].join('\n'),
  );
  expect(stderr).toContain('what 1 run cost is not known');
  expect(await callGmnIn(t, at, ['usage', '--since', 'soon'])).toMatchObject({ exitCode: 1 });
});

posixTest.for([24, 60, 120])('usage is a chart on a terminal of %d columns', async (columns, t) => {
  const at = place(t, { env: { TZ: 'UTC', LANG: 'C.UTF-8' } });
  writeUsage(at);
  const { output } = await runInTerminal(t, ['usage', '--quiet', '--by', 'directory'], { at, columns }).ended;
  const rows = stripVTControlCharacters(output).replaceAll('\r', '').trimEnd().split('\n');
  expect(rows).toHaveLength(1);
  expect(rows.filter((row) => row.length > columns)).toEqual([]);
  expect(rows[0]).toContain('$1.13+');
  if (columns >= 60) expect(rows[0]).toMatch(/█ .*500\.0k tokens {2}3 runs$/);
});

test('--max-cost takes the dearest price of the family for a model that gmn does not know, and says so once', async (t) => {
  const usage = { promptTokenCount: 10, candidatesTokenCount: 1000 };
  const gemini = await fakeGemini(t, [billed(usage, READ, 'gemini-4-neon'), billed(usage, READ, 'gemini-4-neon')]);
  // Argon's introductory price, or twice that, does not buy a third call.
  const flags = ['--tools', 'read', '-m', 'gemini-4-neon', '--max-cost', '0.021', '-o', 'json', 'x'];
  const { stdout, exitCode } = await callGmn(t, flags, { gemini, files });
  const { error } = JSON.parse(stdout);
  expect([exitCode, error.type]).toEqual([1, 'LimitError']);
  expect(error.warnings.filter((text: string) => text.includes('price'))).toEqual([
    'the price of gemini-4-neon is not known: --max-cost counts it as gemini-4-argon, the dearest of its family',
  ]);
  expect(gemini.requests.length).toBeGreaterThan(0);
  expect(gemini.requests[0]?.body.generationConfig.maxOutputTokens).toBeLessThan(2101);
});

test('what a model without a price has cost is not guessed', async (t) => {
  const gemini = await fakeGemini(t, [
    billed({ promptTokenCount: 10, candidatesTokenCount: 10 }, undefined, 'gemini-4-neon'),
  ]);
  const { stdout } = await callGmn(t, ['-m', 'gemini-4-neon', '--max-cost', '1', '-o', 'json', 'x'], { gemini });
  expect(JSON.parse(stdout)).not.toHaveProperty('cost');
});
