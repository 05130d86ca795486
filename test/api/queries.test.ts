import { expect, test } from 'vitest';
import { createIdentity } from '../../src/api/backend.ts';
import { codeAssistQueries } from '../../src/api/code-assist-queries.ts';
import {
  callJson,
  geminiApiQueries,
  type Queries,
  type QueryContext,
  vertexQueries,
  withRetries,
} from '../../src/api/queries.ts';
import { AppError } from '../../src/core/error.ts';
import { startDemo } from '../../src/demo/server.ts';
import { createHttpClient } from '../../src/platform/http/send.ts';
import { systemClock } from '../../src/platform/runtime/clock.ts';
import { REQUEST } from './conversation.ts';
import { answer, head, loopback } from './loopback.ts';

const SIGNAL = new AbortController().signal;
const JSON_TYPE = { 'content-type': 'application/json' };
const timers = { connectMs: 5000, headersMs: 5000, idleMs: 5000 };
const { send } = createHttpClient({ timers, env: {}, trace: () => {}, clock: systemClock });
const userAgent = 'gmn/test';
const TOOLS = [{ functionDeclarations: [{ name: 'glob' }] }];

function caller(refresh?: () => Promise<void>, token = 'test-token-0123'): QueryContext {
  const headers = async () => ({ authorization: `Bearer ${token}` });
  const who = { type: 'oauth-personal', source: 'test', account: 'a', headers, refresh } as const;
  return { identity: createIdentity(who, 'bearer'), send, userAgent };
}

const ONBOARDING = { project: 'p', tier: 't' };
const ONBOARDINGS = {
  current: async () => ONBOARDING,
  findCached: () => ONBOARDING,
  ask: async () => ONBOARDING,
  refresh: async () => false,
};

const QUERIES: Readonly<Record<string, (baseUrl: URL) => Queries>> = {
  'the Gemini API': (baseUrl) => geminiApiQueries({ baseUrl, userAgent }, caller()),
  Vertex: (baseUrl) => vertexQueries({ baseUrl, userAgent, site: { project: 'p', location: 'us-central1' } }, caller()),
  'Code Assist': (baseUrl) =>
    codeAssistQueries({ place: { baseUrl }, caller: caller(), onboardings: ONBOARDINGS, clock: systemClock }),
};

test.for(Object.entries(QUERIES))('%s counts tokens, lists models and knows who asks', async ([, open], t) => {
  const demo = await startDemo({ clock: systemClock });
  t.onTestFinished(() => demo.close());
  const queries = open(new URL(demo.url));
  const contents = [{ role: 'user', parts: [{ text: 'How do the tides come about?' }] }] as const;
  const request = { ...REQUEST, contents, model: 'gemini-2.5-flash' };
  const plain = await queries.countTokens(request, SIGNAL);
  const system = { role: 'user', parts: [{ text: 'Answer in one short and simple sentence.' }] } as const;
  expect(plain).toBeGreaterThan(0);
  expect(await queries.countTokens({ ...request, systemInstruction: system }, SIGNAL)).toBeGreaterThan(plain);
  expect((await queries.listModels(SIGNAL)).map(({ id }) => id)).toContain('gemini-2.5-pro');
  expect((await queries.checkAccount(SIGNAL)).lines[0]).toMatch(/accepts it|serves it/);
  await expect(queries.countTokens({ ...request, model: 'gemini-1.0-gone' }, SIGNAL)).rejects.toMatchObject({
    details: { status: 404 },
  });
});

test('Code Assist counts nothing as 0; elsewhere a missing number is a failure', async (t) => {
  const server = await loopback(t, [answer(200, '{}', JSON_TYPE)]);
  expect(await QUERIES['Code Assist']?.(server.url).countTokens(REQUEST, SIGNAL)).toBe(0);
  await expect(QUERIES.Vertex?.(server.url).countTokens(REQUEST, SIGNAL)).rejects.toMatchObject({ fault: 'api' });
});

test.for([
  [
    'Code Assist',
    'the model with its prefix',
    { request: { model: 'models/gemini-test', contents: REQUEST.contents } },
  ],
  ['Vertex', 'the tools', { contents: REQUEST.contents, tools: TOOLS }],
] as const)('%s is given %s to count, and neither project nor prompt id', async ([name, , body], t) => {
  const server = await loopback(t, [answer(200, '{"totalTokens":3}', JSON_TYPE)]);
  await QUERIES[name]?.(server.url).countTokens({ ...REQUEST, ...(name === 'Vertex' && { tools: TOOLS }) }, SIGNAL);
  expect(JSON.parse(server.requests[0]?.body ?? '')).toEqual(body);
});

test('a list that never ends is left after a hundred pages', async (t) => {
  const server = await loopback(t, [
    answer(200, '{"models":[{"name":"models/a-1"}],"nextPageToken":"more"}', JSON_TYPE),
  ]);
  expect(await QUERIES['the Gemini API']?.(server.url).listModels(SIGNAL)).toEqual([{ id: 'a-1' }]);
  expect(server.requests).toHaveLength(100);
});

test('a 401 leads to one refresh, and no more', async (t) => {
  let refreshes = 0;
  const refreshing = caller(async () => {
    refreshes += 1;
  });
  const refreshed = await loopback(t, [answer(401), answer(200, '{"a":1}', JSON_TYPE)]);
  expect(await callJson(refreshing, { url: refreshed.url }, SIGNAL)).toEqual({ a: 1 });
  const hopeless = await loopback(t, [answer(401)]);
  await expect(callJson(refreshing, { url: hopeless.url }, SIGNAL)).rejects.toMatchObject({ fault: 'auth' });
  expect([refreshes, hopeless.requests.length]).toEqual([2, 2]);
});

test('after a 401 the credential is refreshed without waiting for the body', async (t) => {
  const server = await loopback(t, [
    (socket) => socket.write(head(401, { 'content-length': '100' })),
    answer(200, '{"a":1}', JSON_TYPE),
  ]);
  const { send: patient } = createHttpClient({ timers: { ...timers, idleMs: 0 }, env: {}, clock: systemClock });
  const refreshing = { ...caller(async () => {}), send: patient };
  expect(await callJson(refreshing, { url: server.url }, SIGNAL)).toEqual({ a: 1 });
});

test.for(['', '[]', '7', '<html>Sign in</html>', '{"a":'])('%j is no JSON object', async (body, t) => {
  const server = await loopback(t, [answer(200, body, JSON_TYPE)]);
  await expect(callJson(caller(), { url: server.url }, SIGNAL)).rejects.toMatchObject({
    fault: 'api',
    details: { status: 200 },
  });
});

test('what the server echoes of the token is not repeated', async (t) => {
  const server = await loopback(t, [
    answer(400, '{"error":{"code":400,"message":"test-token-0123 is bad"}}', JSON_TYPE),
  ]);
  const failed = await callJson(caller(), { url: server.url }, SIGNAL).catch((error: unknown) => error);
  expect(String(failed)).toContain('‹redacted› is bad');
});

test.for(['demo', 'totalTokens'])('a token like %j does not change what is read', async (token, t) => {
  const server = await loopback(t, [answer(200, '{"totalTokens":3,"project":"demo-project"}', JSON_TYPE)]);
  expect(await callJson(caller(undefined, token), { url: server.url }, SIGNAL)).toEqual({
    totalTokens: 3,
    project: 'demo-project',
  });
});

test.for(['the Gemini API', 'Vertex'])('%s without a list of models says so', async (name, t) => {
  const server = await loopback(t, [answer(404, '<html>no such page</html>')]);
  await expect(QUERIES[name]?.(server.url).listModels(SIGNAL)).rejects.toMatchObject({
    shortMessage: 'the server does not offer a list of models (404): no such page',
    hint: expect.not.stringContaining('gmn models'),
    details: expect.not.objectContaining({ objection: expect.anything() }),
  });
});

test('a question is repeated as its failure advises, and then given up', async () => {
  const sleeps: number[] = [];
  const clock = {
    now: () => 0,
    sleep: async (ms: number) => {
      sleeps.push(ms);
    },
  };
  const patience = { clock, random: () => 0.5, trace: () => {}, retryBaseMs: 10 };
  let tries = 0;
  const busy = async (): Promise<never> => {
    tries += 1;
    throw new AppError('api', 'busy', { retry: {} });
  };
  await expect(withRetries(busy, patience, SIGNAL)).rejects.toMatchObject({ message: 'busy' });
  expect([tries, sleeps]).toEqual([4, [10, 20, 40]]);
  const final = withRetries(async () => Promise.reject(new AppError('auth', 'no')), patience, SIGNAL);
  await expect(final).rejects.toMatchObject({ message: 'no' });
  expect(sleeps).toHaveLength(3);
  // Delays have an end, and long ones are said.
  const said: string[] = [];
  const slow = { ...patience, retryBaseMs: 8000, retries: 5, notify: (message: string) => said.push(message) };
  await expect(withRetries(busy, slow, SIGNAL)).rejects.toMatchObject({ message: 'busy' });
  expect(sleeps.slice(3)).toEqual([8000, 16_000, 32_000, 60_000, 60_000]);
  expect(said[0]).toBe('busy; retry 2 of 5 in 16 s (Ctrl+C stops the wait)');
  expect(said).toHaveLength(4);
});

test.for(['the Gemini API', 'Vertex'])('%s embeds a text', async (name, t) => {
  const demo = await startDemo({ clock: systemClock });
  t.onTestFinished(() => demo.close());
  const queries = QUERIES[name]?.(new URL(demo.url));
  const embed = async (text: string) =>
    (await queries?.embed({ model: 'gemini-embedding-001', texts: [text] }, SIGNAL))?.vectors[0];
  const values = await embed('tides');
  expect(values?.length).toBeGreaterThan(100);
  expect(await embed('moon')).not.toEqual(values);
});

test('an embedding without numbers is a failure, and Code Assist names the way out', async (t) => {
  const { url } = await loopback(t, [answer(200, '{"embeddings":[{"values":["x"]}]}', JSON_TYPE)]);
  const request = { model: 'gemini-embedding-001', texts: ['tides'] };
  const embedding = QUERIES['the Gemini API']?.(url).embed(request, SIGNAL);
  await expect(embedding).rejects.toThrow('the server sent no embedding');
  await expect(QUERIES['Code Assist']?.(url).embed(request, SIGNAL)).rejects.toMatchObject({
    fault: 'usage',
    hint: expect.stringContaining('GEMINI_API_KEY'),
  });
});
