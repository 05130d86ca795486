import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { parseFaults } from '../../src/demo/fault.ts';
import { startDemo } from '../../src/demo/server.ts';
import { signInFile } from '../support/account.ts';
import { chunk, events, fakeGemini, finish, reply, type Scripted } from '../support/gemini.ts';
import { callGmn, callGmnIn, parseLines, place } from '../support/gmn.ts';
import { decodePng } from '../support/png.ts';

async function demo(t: TestContext, faults: readonly string[]) {
  const server = await startDemo({ clock: { now: Date.now, sleep: async () => {} }, faults: parseFaults(faults) });
  t.onTestFinished(() => server.close());
  return server;
}

const CODE = { executableCode: { language: 'PYTHON', code: 'print(6 * 7)', id: 'c1' }, thoughtSignature: 'c2ln' };
const RESULT = { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '42\n', id: 'c1' } };

test('--code: the answer on stdout, what the service ran on stderr, a chart as a file', async (t) => {
  const at = place(t);
  const gmn = await callGmnIn(t, at, ['--demo', '--code', 'sum as a chart']);
  expect(gmn).toMatchObject({ stdout: 'demo: I add them up.\ndemo: the sum is 55.\n', exitCode: 0 });
  expect(gmn.stderr).toMatch(
    /^✓ the service runs Python\n {2}total = sum\(range\(1, 11\)\)\n {2}print\(total\)\n✓ its output\n {2}55\n✓ saved sum-as-a-chart\.png \(PNG, 85x64, [\d.]+ kB\)\n$/,
  );
  decodePng(readFileSync(join(at.cwd, 'sum-as-a-chart.png')));
});

test('what the service ran is kept, and goes back unchanged', async (t) => {
  const gemini = await fakeGemini(t, [reply('So:\n', CODE, RESULT, 'It is 42.'), reply('Yes.')]);
  const at = place(t, { gemini });
  const first = await callGmnIn(t, at, ['--code', '-o', 'json', 'six times seven?']);
  expect(JSON.parse(first.stdout)).toMatchObject({
    response: 'So:\nIt is 42.',
    serviceSteps: [
      { kind: 'code', language: 'PYTHON', code: 'print(6 * 7)' },
      { kind: 'result', ok: true, outcome: 'OUTCOME_OK', output: '42\n' },
    ],
  });
  expect(gemini.requests[0]?.body.tools).toEqual([{ codeExecution: {} }]);
  await callGmnIn(t, at, ['-c', '--code', 'sure?']);
  expect(gemini.requests[1]?.body.contents[1].parts).toEqual([{ text: 'So:\n' }, CODE, RESULT, { text: 'It is 42.' }]);
  const page = await callGmnIn(t, at, ['sessions', 'export', 'last', '--format', 'md']);
  expect(page.stdout).toContain(
    '#### Code that the service ran\n\n```python\nprint(6 * 7)\n```\n\nOutput:\n\n```\n42\n```',
  );
});

test('--url: the pages that were read, and those that could not be', async (t) => {
  const prompt = 'compare https://a.example/ with https://paywall.example/x';
  expect(await callGmn(t, ['--demo', '--url', prompt])).toMatchObject({
    stdout: 'demo: I read 2 pages.\n',
    stderr: '✓ the service read https://a.example/\n✗ the service read https://paywall.example/x: paywall\n',
    exitCode: 0,
  });
  const stream = await callGmn(t, ['--demo', '--url', '-o', 'stream-json', prompt]);
  const lines = parseLines(stream.stdout);
  expect(lines.filter(({ type }) => type === 'service_step')).toEqual([
    { type: 'service_step', kind: 'page', url: 'https://a.example/', ok: true, status: 'SUCCESS' },
    { type: 'service_step', kind: 'page', url: 'https://paywall.example/x', ok: false, status: 'PAYWALL' },
  ]);
});

test('the pages are in the session and its export', async (t) => {
  const urlContextMetadata = {
    urlMetadata: [{ retrievedUrl: 'https://a.example/', urlRetrievalStatus: 'URL_RETRIEVAL_STATUS_SUCCESS' }],
  };
  const ending = { candidates: [{ finishReason: 'STOP', urlContextMetadata }], modelVersion: 'gemini-2.5-flash' };
  const gemini = await fakeGemini(t, [events([chunk([{ text: 'Same.' }]), ending])]);
  const at = place(t, { gemini });
  await callGmnIn(t, at, ['--url', '--search', '--code', 'compare https://a.example/']);
  expect(gemini.requests[0]?.body.tools).toEqual([{ googleSearch: {} }, { codeExecution: {} }, { urlContext: {} }]);
  const page = await callGmnIn(t, at, ['sessions', 'export', 'last', '--format', 'json']);
  expect(JSON.parse(page.stdout).records[1].pages).toEqual([
    { kind: 'page', url: 'https://a.example/', ok: true, status: 'SUCCESS' },
  ]);
});

test('beside functions: sent together to Gemini 3, refused before the network for older models', async (t) => {
  const gemini = await fakeGemini(t, [reply('ok')]);
  const gmn = await callGmn(t, ['--code', '--tools', 'read_file', '-m', 'gemini-3.8-flash', 'x'], { gemini });
  expect(gmn).toMatchObject({ stdout: 'ok\n', exitCode: 0 });
  expect(gemini.requests[0]?.body).toMatchObject({
    tools: [{ functionDeclarations: [{ name: 'read_file' }] }, { codeExecution: {} }],
    toolConfig: { includeServerSideToolInvocations: true },
  });
  expect(await callGmn(t, ['--code', '--url', '--tools', 'read', 'x'], { gemini })).toMatchObject({
    stdout: '',
    stderr: `Error: --code, --url cannot be combined with other tools
gemini-2.5-flash takes either. Use --tools none, or a newer model, for example -m flash
`,
    exitCode: 1,
  });
});

test('--service-tier is in the request; a downgrade is a notice, and json says who answered', async (t) => {
  const gemini = await fakeGemini(t, [
    (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'x-gemini-service-tier': 'priority' });
      response.end(`data: ${JSON.stringify(finish('STOP', [{ text: 'ok' }]))}\n\n`);
    },
  ]);
  const served = await callGmn(t, ['--service-tier', 'priority', 'x'], { gemini });
  expect(served).toMatchObject({ stdout: 'ok\n', stderr: '', exitCode: 0 });
  expect(gemini.requests[0]?.body.serviceTier).toBe('priority');
  const lower = await callGmn(t, ['--service-tier', 'priority', '-o', 'json', 'hi'], {
    gemini: await demo(t, ['tier-downgrade']),
  });
  expect(JSON.parse(lower.stdout)).toMatchObject({
    serviceTier: 'standard',
    warnings: ['the service answered in its standard tier, not in priority'],
  });
});

test('the tier beside the counts is the one that answered: notice and cost follow it, before the header', async (t) => {
  const usageMetadata = { promptTokenCount: 1_000_000, candidatesTokenCount: 0, totalTokenCount: 1_000_000 };
  const answer = (fields: object): Scripted => {
    const last = { ...finish('STOP', [{ text: 'ok' }]), usageMetadata: { ...usageMetadata, ...fields } };
    return (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'x-gemini-service-tier': 'flex' });
      response.end(`data: ${JSON.stringify(last)}\n\n`);
    };
  };
  const home = { '.gmn/config.json': '{"prices":{"gemini-2.5-*":{"input":2,"output":8,"priority":1.8}}}' };
  const ask = async (fields: object, ...words: readonly string[]) =>
    JSON.parse(
      (await callGmn(t, ['-o', 'json', ...words, 'x'], { gemini: await fakeGemini(t, [answer(fields)]), home })).stdout,
    );
  const downgraded = await ask({ serviceTier: 'standard' }, '--service-tier', 'flex');
  expect(downgraded).toMatchObject({ serviceTier: 'standard', cost: 2 });
  expect(downgraded.warnings).toEqual(['the service answered in its standard tier, not in flex']);
  expect(await ask({ serviceTier: 'SERVICE_TIER_FLEX' }, '--service-tier', 'flex')).toMatchObject({ cost: 1 });
  expect(await ask({}, '--service-tier', 'flex')).toMatchObject({ serviceTier: 'flex', cost: 1 });
  const plain = await ask({ serviceTier: 'standard' });
  expect(plain).toMatchObject({ cost: 2 });
  expect(Object.keys(plain)).not.toContain('serviceTier');
});

test('on Vertex AI the tier is asked for in a header, too, and read from the traffic type', async (t) => {
  const usageMetadata = { promptTokenCount: 1, totalTokenCount: 1, trafficType: 'ON_DEMAND' };
  const { url, requests } = await fakeGemini(t, [
    events([{ ...finish('STOP', [{ text: 'ok' }]), usageMetadata }]),
    events([
      { ...finish('STOP', [{ text: 'ok' }]), usageMetadata: { ...usageMetadata, trafficType: 'ON_DEMAND_FLEX' } },
    ]),
    reply('ok'),
  ]);
  const env = { GOOGLE_API_KEY: 'test-key-0123456789', GOOGLE_GENAI_USE_VERTEXAI: 'true', GOOGLE_VERTEX_BASE_URL: url };
  const other = await callGmn(t, ['--service-tier', 'flex', 'x'], { env });
  expect(other.stderr).toContain('the service answered in its standard tier, not in flex');
  expect(await callGmn(t, ['--service-tier', 'flex', 'x'], { env })).toMatchObject({ stdout: 'ok\n', stderr: '' });
  await callGmn(t, ['x'], { env });
  expect(
    requests.map(({ headers, body }) => [headers['x-vertex-ai-llm-shared-request-type'], body.serviceTier]),
  ).toEqual([
    ['flex', 'flex'],
    ['flex', 'flex'],
    [undefined, undefined],
  ]);
});

test('the signature of a picture may be larger than any answer: the session is saved and goes on', async (t) => {
  const inlineData = { mimeType: 'image/png', data: 'iVBORw0KGgo=' };
  const parts = [{ inlineData, thoughtSignature: 'c2ln'.repeat(725_000) }];
  const gemini = await fakeGemini(t, [events([finish('STOP', parts)]), reply('A fox.')]);
  const at = place(t, { gemini });
  const first = await callGmnIn(t, at, ['-o', 'json', 'draw a fox']);
  expect(JSON.parse(first.stdout)).toMatchObject({ sessionId: expect.any(String) });
  expect(await callGmnIn(t, at, ['-c', 'what is it?'])).toMatchObject({ stdout: 'A fox.\n', exitCode: 0 });
  expect(gemini.requests[1]?.body.contents[1]).toEqual({ role: 'model', parts });
});

test('a backend without tiers says so before the network', async (t) => {
  const home = {
    '.gemini/oauth_creds.json': signInFile(),
    '.gemini/settings.json': '{"security":{"auth":{"selectedType":"oauth-personal"}}}',
  };
  const env = { CODE_ASSIST_ENDPOINT: 'http://127.0.0.1:9' };
  const gmn = await callGmn(t, ['--service-tier', 'flex', 'x'], { home, env });
  expect(gmn).toMatchObject({ stdout: '', exitCode: 1 });
  expect(gmn.stderr).toContain('Error: --service-tier: Code Assist, which a Google login uses, has no tiers');
});

test('a chat has them too, from the line or with /tools', async (t) => {
  const stdin = 'sum\n/tools code off\n/tools url on\nread https://a.example/\n/exit\n';
  const chat = await callGmn(t, ['--demo', 'chat', '--tools', 'none', '--code'], { stdin });
  expect(chat.stderr).toContain('the service runs Python');
  expect(chat.stderr).toMatch(/on {2}url +the service reads the pages you name/);
  expect(chat).toMatchObject({ stderr: expect.stringContaining('✓ the service read https://a.example/'), exitCode: 0 });
});
