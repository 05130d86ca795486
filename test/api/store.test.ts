import { expect, type TestContext, test } from 'vitest';
import { createMemoryHistory } from '../../src/agent/agent.ts';
import { formatBatchLine } from '../../src/api/batches.ts';
import { geminiApi, toStoreField } from '../../src/api/gemini-api.ts';
import { createEngine } from '../../src/app/serve/engine.ts';
import { createLocks } from '../../src/core/async.ts';
import { AppError } from '../../src/core/error.ts';
import type { HttpRequest } from '../../src/core/io.ts';
import { createHttpClient } from '../../src/platform/http/send.ts';
import { systemClock } from '../../src/platform/runtime/clock.ts';
import { place as configPlace } from '../config/place.ts';
import { fakeGemini, reply } from '../support/gemini.ts';
import { callGmn } from '../support/gmn.ts';
import { converseWith, KEY, keyIdentity, REQUEST } from './conversation.ts';
import { type Answer, answer, loopback, whole } from './loopback.ts';

const PLACE = { userAgent: 'gmn/test' };

/** Asks Google's own host, whose place a server on this machine takes. Returns `store` of each request. */
async function ask(t: TestContext, answers: readonly Answer[], store?: boolean) {
  const server = await loopback(t, answers);
  const client = createHttpClient({
    timers: { connectMs: 5000, headersMs: 5000, idleMs: 5000 },
    env: {},
    clock: systemClock,
  });
  const outcome = await converseWith(server.url, {
    makeBackend: () => geminiApi({ ...PLACE, store }, keyIdentity(KEY)),
    send: (request, signal) =>
      client.send({ ...request, url: new URL(request.url.pathname + request.url.search, server.url) }, signal),
  });
  return { ...outcome, stores: server.requests.map(({ body }) => JSON.parse(body).store) };
}

function refusal(message: string): Answer {
  return answer(400, JSON.stringify({ error: { code: 400, status: 'INVALID_ARGUMENT', message } }), {
    'content-type': 'application/json',
  });
}

test('Google is asked to keep nothing, unless the user wants it', async (t) => {
  expect((await ask(t, [whole('hi')])).stores).toEqual([false]);
  expect((await ask(t, [whole('hi')], true)).stores).toEqual([true]);
});

test.for([
  'Invalid JSON payload received. Unknown name "store": Cannot find field.',
  'The parameter `store` is not supported for this project.',
  '"store" is not available here.',
])('a service that refuses the field is asked again without it: %s', async (message, t) => {
  const { stores, text } = await ask(t, [refusal(message), whole('hi')]);
  expect([stores, text]).toEqual([[false, undefined], 'hi']);
});

test('any other refusal, even of a prompt about a store, does not let the request be kept', async (t) => {
  const { stores, error } = await ask(t, [refusal('The words of the app store are not valid: store')]);
  expect([stores, error?.fault]).toEqual([[false], 'api']);
});

test('the rows of a batch carry it, too', () => {
  const line = formatBatchLine('1', REQUEST, toStoreField(PLACE));
  expect(JSON.parse(line).request.store).toBe(false);
});

test.for([
  ['no word about it', {}, '{}', false],
  ['--store', { store: true }, '{}', true],
  ['the setting', {}, '{"request":{"store":true}}', true],
] as const)('gmn mcp serve sends what %s says', async ([, model, config, expected], t) => {
  const { app, settings } = configPlace(t, { 'home/.gmn/config.json': config }, { GEMINI_API_KEY: 'a-key-0123456789' });
  const stores: unknown[] = [];
  const send = async ({ body }: HttpRequest): Promise<never> => {
    stores.push(JSON.parse(String(body)).store);
    throw new AppError('usage', 'sent');
  };
  const engine = createEngine({
    app: { ...app, send, preconnect: () => {}, settings },
    locks: createLocks(),
    model,
    permissions: { write: false, shell: false },
  });
  const prompt = { role: 'user', parts: [{ text: 'hi' }] } as const;
  const { events } = await engine.startTurn({
    prompt,
    storage: { kind: 'history', history: createMemoryHistory() },
    signal: app.signal,
  });
  for await (const _ of events);
  expect(stores).toEqual([expected]);
});

test('neither a gateway nor Vertex is sent the field', async (t) => {
  expect(toStoreField({ ...PLACE, baseUrl: new URL('https://gateway.example/google') })).toEqual({});
  const body = async (args: readonly string[], env: Readonly<Record<string, string>>) =>
    JSON.parse((await callGmn(t, ['--dry-run', ...args, 'hi'], { env })).stdout).body;
  const google = { GEMINI_API_KEY: 'a-key-0123456789' };
  const vertex = { GOOGLE_GENAI_USE_ENTERPRISE: 'true', GOOGLE_API_KEY: 'a-key-0123456789' };
  const bodies = await Promise.all([body([], google), body(['--store'], google), body([], vertex)]);
  expect(bodies.map(({ store }) => store)).toEqual([false, true, undefined]);
});

test('--store towards a gateway or Vertex is said to be left out', async (t) => {
  const gemini = await fakeGemini(t, [reply('hi'), reply('hi'), reply('hi')]);
  const notice = 'gmn: --store is left out: only the Gemini API at Google’s own address takes it\n';
  const gateway = { GEMINI_API_KEY: 'a-key-0123456789', GOOGLE_GEMINI_BASE_URL: gemini.url };
  const vertex = {
    GOOGLE_GENAI_USE_VERTEXAI: 'true',
    GOOGLE_API_KEY: 'a-key-0123456789',
    GOOGLE_VERTEX_BASE_URL: gemini.url,
  };
  const run = (args: readonly string[], env: Readonly<Record<string, string>>) =>
    callGmn(t, [...args, '-m', 'gemini-2.5-pro', 'hi'], { env });
  for (const env of [gateway, vertex]) {
    expect(await run(['--store'], env)).toMatchObject({ stdout: 'hi\n', stderr: notice, exitCode: 0 });
  }
  const { warnings } = JSON.parse((await run(['--store', '-o', 'json'], gateway)).stdout);
  expect(warnings).toEqual([notice.slice('gmn: '.length, -1)]);
});
