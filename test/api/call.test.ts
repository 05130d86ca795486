import { expect, test } from 'vitest';
import type { Backend } from '../../src/api/backend.ts';
import { geminiApi } from '../../src/api/gemini-api.ts';
import { AppError } from '../../src/core/error.ts';
import { systemClock } from '../../src/platform/runtime/clock.ts';
import { converse, converseWith, KEY, keyIdentity, modelAt, REQUEST } from './conversation.ts';
import { type Answer, answer, event, head, loopback, reply, stream, whole } from './loopback.ts';

const STOP = { finishReason: 'STOP' };
const JSON_TYPE = { 'content-type': 'application/json' };

function failing(code: number, fields: Readonly<Record<string, unknown>> = {}): Answer {
  return answer(code, JSON.stringify({ error: { code, message: 'words', ...fields } }), JSON_TYPE);
}

function retryInfo(retryDelay: string): Readonly<Record<string, unknown>> {
  return {
    status: 'RESOURCE_EXHAUSTED',
    details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay }],
  };
}

test('one prompt is one request with the key in a header, and its answer arrives in order', async (t) => {
  const outcome = await converse(t, [
    stream([
      event(reply([{ text: 'pondering', thought: true }])),
      event(reply([{ text: 'Hel' }])),
      event({
        ...(reply([{ text: 'lo.' }], STOP) as object),
        usageMetadata: { promptTokenCount: 1, totalTokenCount: 3 },
        modelVersion: 'gemini-test-001',
      }),
    ]),
  ]);
  expect(outcome.events).toEqual([
    { type: 'wait', what: 'gemini-test' },
    { type: 'begin', model: 'gemini-test' },
    { type: 'thought', delta: 'pondering' },
    { type: 'text', delta: 'Hel' },
    { type: 'text', delta: 'lo.' },
  ]);
  expect(outcome.reply).toEqual({
    finishReason: 'STOP',
    usage: { promptTokenCount: 1, totalTokenCount: 3 },
    model: 'gemini-test-001',
  });
  expect(outcome.server.requests).toHaveLength(1);
  const [request] = outcome.server.requests;
  expect(request?.head.split('\r\n')[0]).toBe('POST /v1beta/models/gemini-test:streamGenerateContent?alt=sse HTTP/1.1');
  expect(request?.head.toLowerCase()).toContain(`\r\nx-goog-api-key: ${KEY}`);
  expect(JSON.parse(request?.body ?? '')).toEqual({
    contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
    generationConfig: { temperature: 1 },
  });
});

test('the trace names method, host, path, status and sizes, and neither key nor query', async (t) => {
  const { trace, server } = await converse(t, [whole('hi')]);
  const where = `POST ${server.url.host}/v1beta/models/gemini-test:streamGenerateContent`;
  expect(trace).toHaveLength(3);
  expect(trace[0]).toBe(`${where}, 91 bytes`);
  expect(trace[1]).toBe(`${where}: 200 after 0 ms`);
  expect(trace[2]).toMatch(/: closed, \d+ bytes in 0 ms$/);
});

test('a call that fails once is sent again, said in words, with one begin', async (t) => {
  const { events, sleeps, reply: got } = await converse(t, [failing(503, { status: 'UNAVAILABLE' }), whole('fine')]);
  expect(events).toEqual([
    { type: 'wait', what: 'gemini-test' },
    { type: 'notice', message: 'API error: the server failed (503 UNAVAILABLE): words; retry 1 of 3 in 1 s' },
    { type: 'wait', what: 'gemini-test: retry 1 of 3 in 1 s' },
    { type: 'wait', what: 'gemini-test (attempt 2)' },
    { type: 'begin', model: 'gemini-test' },
    { type: 'text', delta: 'fine' },
  ]);
  expect(sleeps).toEqual([1000]);
  expect(got?.finishReason).toBe('STOP');
});

test('the words of the service keep their full stop only where they end the line', async (t) => {
  const body = { status: 'UNAVAILABLE', message: 'Out of quota.' };
  const { events } = await converse(t, [failing(503, body), whole('fine')]);
  expect(events[1]).toEqual({
    type: 'notice',
    message: 'API error: the server failed (503 UNAVAILABLE): Out of quota; retry 1 of 3 in 1 s',
  });
});

const RETRIED: readonly (readonly [what: string, fault: string, Answer, readonly number[]])[] = [
  ['reset before headers', 'N5', (socket) => socket.resetAndDestroy(), [1000, 2000, 4000]],
  ['bare 429', 'N20', answer(429), [1000, 2000, 4000]],
  ['429 with RetryInfo', 'N18', failing(429, retryInfo('2s')), [2000, 2000, 4000]],
  ['the wait only in words', 'N22', failing(429, { message: 'Please retry in 1.5s.' }), [1500, 2000, 4000]],
  ['the wait only in a header', 'N22', answer(429, '', { 'retry-after': '7' }), [7000, 7000, 7000]],
  ['no capacity', 'N23', failing(429, { details: [{ reason: 'MODEL_CAPACITY_EXHAUSTED' }] }), [1000, 2000, 4000]],
  ['500', 'N24', failing(500), [1000, 2000, 4000]],
  ['empty stream', 'S12', stream([]), [1000, 2000, 4000]],
  ['only usage', 'S13', stream([event({ usageMetadata: { totalTokenCount: 1 } })]), [1000, 2000, 4000]],
  ['malformed call', 'S21', stream([event(reply([], { finishReason: 'MALFORMED_FUNCTION_CALL' }))]), [1000, 2000]],
  ['thoughts only', 'S22', stream([event(reply([{ text: 'hm', thought: true }], STOP))]), [1000]],
];

test.for(RETRIED)(
  '%s: sent again within its budget, then the last failure counts (%s)',
  async ([, , bad, pauses], t) => {
    const always = await converse(t, [bad]);
    expect(always.error?.fault).toBe('api');
    expect(always.sleeps).toEqual(pauses);
    expect(always.server.requests).toHaveLength(pauses.length + 1);
    expect(always.events.filter(({ type }) => type === 'begin')).toHaveLength(1);
    const once = await converse(t, [bad, whole('fine')]);
    expect(once.text).toBe('fine');
    expect(once.events.filter(({ type }) => type === 'begin')).toHaveLength(1);
  },
);

const FINAL: readonly (readonly [what: string, fault: string, Answer, string])[] = [
  ['400', 'N17', failing(400), 'api: API error: invalid request (400): words'],
  [
    'a wait of ten minutes',
    'N19',
    failing(429, retryInfo('600s')),
    'api: API error: quota exceeded for gemini-test (429 RESOURCE_EXHAUSTED): words',
  ],
  [
    'daily quota',
    'N21',
    failing(429, { details: [{ violations: [{ quotaId: 'GenerateRequestsPerDayPerProject' }] }] }),
    'api: API error: daily quota exceeded for gemini-test (429): words',
  ],
  [
    'captive portal',
    'N26',
    answer(200, '<html><body>Please <b>log in</b></body></html>', { 'content-type': 'text/html' }),
    'api: unexpected content type text/html from the server: Please log in',
  ],
  [
    'a JSON error with 200',
    'N27',
    answer(200, JSON.stringify({ error: { code: 400, message: 'words' } }), JSON_TYPE),
    'api: API error: invalid request (400): words',
  ],
  [
    'redirect',
    'N28',
    answer(307, '', { location: 'https://elsewhere.example/x?y' }),
    'api: API error: the server redirects to elsewhere.example (307), which gmn does not follow',
  ],
  [
    'blocked prompt',
    'S17',
    stream([event({ promptFeedback: { blockReason: 'SAFETY' } })]),
    'api: prompt blocked: SAFETY',
  ],
  [
    'all tokens spent on thoughts',
    'S20',
    stream([event(reply([{ text: 'hm', thought: true }], { finishReason: 'MAX_TOKENS' }))]),
    'api: empty response: the token limit was spent before the answer began (MAX_TOKENS)',
  ],
  [
    'an answer without text',
    'not a row of the matrix',
    stream([event(reply([{ inlineData: { mimeType: 'image/png', data: '!!!' } }], STOP))]),
    'api: the answer contains no text, only inlineData',
  ],
];

test.for(FINAL)('%s: one request, one begin, no retry (%s)', async ([, , bad, words], t) => {
  const { error, sleeps, server, events } = await converse(t, [bad]);
  expect(`${error?.fault}: ${error?.message}`).toBe(words);
  expect(error?.hint).toMatch(/\S/);
  expect(sleeps).toEqual([]);
  expect(server.requests).toHaveLength(1);
  expect(events.filter(({ type }) => type === 'begin')).toHaveLength(1);
});

test('there is no begin if no request was sent', async () => {
  const refused = await converseWith(new URL('http://127.0.0.1:1'), {});
  expect(refused.error?.message).toBe('connection to 127.0.0.1:1 refused');
  expect(refused.sleeps).toEqual([1000, 2000, 4000]);
  expect(refused.events.some(({ type }) => type === 'begin')).toBe(false);
});

test('a list of responses without alt=sse is read like the stream', async (t) => {
  const body = JSON.stringify([reply([{ text: 'Hel' }]), reply([{ text: 'lo' }], STOP)]);
  const { text, reply: got } = await converse(t, [answer(200, body, JSON_TYPE)]);
  expect({ text, finish: got?.finishReason }).toEqual({ text: 'Hello', finish: 'STOP' });
});

test('thoughts that nobody sees do not forbid a retry; thoughts on show do', async (t) => {
  const cut = stream([event(reply([{ text: 'hm', thought: true }]))]);
  expect((await converse(t, [cut, whole('fine')])).text).toBe('fine');
  const shown = await converse(t, [cut, whole('fine')], { showsThoughts: true });
  expect(shown.error?.message).toBe('the answer was cut short: the stream ended without a finish reason');
  expect(shown.server.requests).toHaveLength(1);
});

test('a wait longer than the deadline is reported instead', async (t) => {
  const { error, sleeps } = await converse(t, [failing(429, retryInfo('20s'))], { deadline: () => 1_010_000 });
  expect(error?.hint).toBe('The server asks to wait 20 s, longer than --timeout leaves. Raise it with -t.');
  expect(sleeps).toEqual([]);
});

test('an abort ends the call with its reason, closes the connection and is not retried', async (t) => {
  const controller = new AbortController();
  const reason = new AppError('interrupted', 'Interrupted.');
  const outcome = await converse(t, [stream([event(reply([{ text: 'so far' }]))], 'stall')], {
    signal: controller.signal,
    onEvent: (told) => (told.type === 'text' ? controller.abort(reason) : undefined),
  });
  expect(outcome.error).toBe(reason);
  expect(outcome.text).toBe('so far');
  await expect.poll(outcome.server.closed).toBe(1);
});

test('an abort while waiting for the answer still tells that the request went out', async (t) => {
  const controller = new AbortController();
  const reason = new AppError('api', 'timed out');
  const outcome = await converse(t, [() => controller.abort(reason)], { signal: controller.signal });
  expect(outcome.error).toBe(reason);
  expect(outcome.events).toEqual([
    { type: 'wait', what: 'gemini-test' },
    { type: 'begin', model: 'gemini-test' },
  ]);
});

test.for(['begin', 'text'] as const)('a reader that leaves at %s closes the connection', async (leaveAt, t) => {
  const { server } = await converse(t, [stream([event(reply([{ text: 'so far' }]))], 'stall')], { leaveAt });
  await expect.poll(server.closed).toBe(1);
});

test('a server that echoes the key does not get it into the error', async (t) => {
  const { error } = await converse(t, [failing(401, { message: `bad key ${KEY}` })]);
  expect(error?.message).toBe('authentication failed: bad key ‹redacted› (401)');
});

test('a backend with an envelope and a renewable credential: one refresh, one resend, nothing to see', async (t) => {
  const refreshes: boolean[] = [];
  const url = (base: string): Backend => ({
    ...geminiApi({ userAgent: 'gmn/test' }, keyIdentity(KEY)),
    credential: 'account',
    canRefresh: true,
    unwrap: (value) => (value as { response: unknown }).response,
    prepare: async (request, { refresh }) => {
      refreshes.push(refresh);
      return { method: 'POST', url: new URL(base), headers: {}, body: JSON.stringify({ request }) };
    },
  });
  const wrapped = stream([event({ response: reply([{ text: 'fine' }], STOP) })]);
  const good = await converse(t, [failing(401), wrapped], { makeBackend: url });
  expect({ text: good.text, refreshes: refreshes.splice(0), sleeps: good.sleeps }).toEqual({
    text: 'fine',
    refreshes: [false, true],
    sleeps: [],
  });
  const bad = await converse(t, [failing(401)], { makeBackend: url });
  expect(bad.error?.fault).toBe('auth');
  expect(bad.server.requests).toHaveLength(2);
});

/** A refusal whose explanation never comes. */
const bodiless: Answer = (socket) => {
  socket.write(head(401, { 'content-length': '100', 'content-type': 'application/json' }));
};

test('after a 401 the credential is refreshed at once, without waiting for the body', async (t) => {
  const renewable = (baseUrl: string): Backend => ({
    ...geminiApi({ baseUrl: new URL(baseUrl), userAgent: 'gmn/test' }, keyIdentity(KEY)),
    canRefresh: true,
  });
  // Without a limit for silence, waiting would be for ever.
  const { text, server } = await converse(t, [bodiless, whole('fine')], { makeBackend: renewable, idleMs: 0 });
  expect(text).toBe('fine');
  await expect.poll(server.closed).toBe(2);
});

test('each request has a time of its own: one that took too long takes nothing from the next', async (t) => {
  const server = await loopback(t, [() => {}, whole('in time')]);
  const limits = [20, 10_000];
  const requestTimeout = {
    get ms() {
      return limits.shift() ?? 0;
    },
    error: () => new AppError('api', 'too late', { isTimeout: true, retry: {} }),
  };
  const model = modelAt(server.url, { requestTimeout }, { clock: systemClock, trace: () => {} });
  const ask = async (): Promise<string> => {
    let text = '';
    for await (const event of model.stream(REQUEST, new AbortController().signal)) {
      if (event.type === 'text') text += event.delta;
    }
    return text;
  };
  await expect(ask()).rejects.toMatchObject({ fault: 'api', message: 'too late' });
  expect(await ask()).toBe('in time');
  expect(server.requests).toHaveLength(2);
});
