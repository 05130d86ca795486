import { expect, test } from 'vitest';
import { ask, errorOf, events, FLASH, parts, STREAM, testDemo, texts } from './support.ts';

test.each([
  ['401', 401, 'UNAUTHENTICATED'],
  ['403', 403, 'PERMISSION_DENIED'],
  ['404-retired', 404, 'NOT_FOUND'],
  ['429', 429, 'RESOURCE_EXHAUSTED'],
  ['429-daily', 429, 'RESOURCE_EXHAUSTED'],
  ['500', 500, 'INTERNAL'],
  ['503', 503, 'UNAVAILABLE'],
  ['UNSUPPORTED_CLIENT', 403, 'PERMISSION_DENIED'],
  ['TOS_VIOLATION', 403, 'PERMISSION_DENIED'],
  ['VALIDATION_REQUIRED', 403, 'PERMISSION_DENIED'],
])('%s refuses with %i', async (fault, code, status) => {
  const response = await (await testDemo({ faults: [fault] })).post(STREAM, ask('Hello'));
  expect(response.status).toBe(code);
  expect(await errorOf(response)).toMatchObject({ code, status });
});

test('a limited fault passes after its turn', async () => {
  const demo = await testDemo({ faults: ['503x1,429x1'] });
  const statuses: number[] = [];
  for (let count = 0; count < 3; count += 1) statuses.push((await demo.post(STREAM, ask('Hello'))).status);
  expect(statuses).toEqual([503, 429, 200]);
});

test('429 names the quota, and the wait if there is one', async () => {
  const plain = await (await testDemo({ faults: ['429'] })).post(STREAM, ask('a'));
  expect(plain.headers.get('retry-after')).toBeNull();
  const quotaIds = (error: { details?: Record<string, unknown>[] }): unknown => error.details?.[0]?.violations;
  expect(quotaIds(await errorOf(plain))).toMatchObject([
    { quotaId: 'GenerateRequestsPerMinutePerProjectPerModel-FreeTier' },
  ]);
  const waiting = await (await testDemo({ faults: ['429,retry-after=1.5'] })).post(STREAM, ask('a'));
  expect(waiting.headers.get('retry-after')).toBe('2');
  expect((await errorOf(waiting)).details?.at(-1)).toEqual({
    '@type': 'type.googleapis.com/google.rpc.RetryInfo',
    retryDelay: '1.5s',
  });
  const daily = await (await testDemo({ faults: ['429-daily'] })).post(STREAM, ask('a'));
  expect(quotaIds(await errorOf(daily))).toMatchObject([
    { quotaId: 'GenerateRequestsPerDayPerProjectPerModel-FreeTier' },
  ]);
});

test('a retired model is not found, its fallback answers', async () => {
  const demo = await testDemo({ faults: ['404-retired'] });
  expect((await demo.post(`${FLASH}:generateContent`, ask('hi'))).status).toBe(404);
  const next = await demo.post('/v1beta/models/gemini-flash-latest:generateContent', ask('hi'));
  expect(texts([await next.json()])).toEqual(['Hi! What are we building today?']);
});

test('a redirect is offered for every request, the token too', async () => {
  const demo = await testDemo({ faults: ['redirect=http://127.0.0.1:9/x'] });
  for (const path of [STREAM, '/token', '/v1internal:loadCodeAssist']) {
    const response = await demo.post(path, {});
    expect([response.status, response.headers.get('location')]).toEqual([307, 'http://127.0.0.1:9/x']);
  }
});

test.each([
  ['safety', [{ candidates: [{ finishReason: 'SAFETY', index: 0, safetyRatings: [expect.anything()] }] }]],
  ['empty', [{ candidates: [{ content: { role: 'model' }, finishReason: 'STOP', index: 0 }] }]],
  ['blocked', [{ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } }]],
  [
    'malformed-call',
    [{ candidates: [{ finishReason: 'MALFORMED_FUNCTION_CALL', finishMessage: expect.any(String), index: 0 }] }],
  ],
])('%s leaves one event', async (fault, expected) => {
  const rest = {
    usageMetadata: { promptTokenCount: 5, totalTokenCount: 5 },
    modelVersion: 'gemini-2.5-flash',
    responseId: 'demo-000001',
  };
  const list = await events(await (await testDemo({ faults: [fault] })).post(STREAM, ask('Hello')));
  expect(list).toEqual(expected.map((event) => ({ ...event, ...rest })));
});

test('no-finish leaves the text and takes the reason', async () => {
  const list = await events(await (await testDemo({ faults: ['no-finish'] })).post(STREAM, ask('Hello')));
  expect(texts(list).join('')).toBe('Hello! How can I help you today?');
  expect(list.some((event) => event.candidates?.[0]?.finishReason)).toBe(false);
});

test('max-tokens stops after the first text, not after a thought', async () => {
  const demo = await testDemo({ faults: ['max-tokens'] });
  const thinking = { generationConfig: { thinkingConfig: { includeThoughts: true } } };
  const list = await events(await demo.post(STREAM, ask('Hello', thinking)));
  expect(list.flatMap(parts).map(({ thought }) => thought)).toEqual([true, undefined]);
  expect(texts(list)[1]).toBe('Hello');
  expect(list[1]?.candidates?.[0]?.finishReason).toBe('MAX_TOKENS');
});

test('garbage is an event that is not JSON, between two that are', async () => {
  const text = await (await (await testDemo({ faults: ['garbage'] })).post(STREAM, ask('Hello'))).text();
  const frames = text.split('\r\n\r\n').map((frame) => isJson(frame.replace('data: ', '')));
  expect(frames).toEqual([true, false, true, true, false]);
  const whole = await (await testDemo({ faults: ['garbage'] })).post(`${FLASH}:generateContent`, ask('Hello'));
  expect(isJson(await whole.text())).toBe(false);
});

test.each([
  ['cut-after=2', 2],
  ['cut-after=0', 0],
  ['cut-after=9', 2],
])('%s drops the line inside the next event', async (fault, whole) => {
  const { received, error } = await readUntilBroken(
    await (await testDemo({ faults: [fault] })).post(STREAM, ask('Hello')),
  );
  expect(error).toBeInstanceOf(Error);
  const frames = received.split('\r\n\r\n');
  expect(frames).toHaveLength(whole + 1);
  expect(isJson(frames.at(-1)?.replace('data: ', '') ?? '')).toBe(false);
  expect(frames.at(-1)).toMatch(/^data: \{/);
});

test('cut-after cuts an answer that does not stream, too', async () => {
  const demo = await testDemo({ faults: ['cut-after=2'] });
  const { received, error } = await readUntilBroken(await demo.post(`${FLASH}:generateContent`, ask('Hello')));
  expect(error).toBeInstanceOf(Error);
  expect(isJson(received)).toBe(false);
});

test('slow waits before every chunk', async () => {
  const demo = await testDemo({ faults: ['slow=5s'] });
  expect(texts(await events(await demo.post(STREAM, ask('Hello'))))).toHaveLength(3);
  expect(demo.sleeps).toEqual([5000, 5000, 5000]);
});

test('hang-after goes silent, and closing does not wait for it', async () => {
  const demo = await testDemo({ faults: ['hang-after=1'] });
  const response = await demo.post(STREAM, ask('Hello'));
  const reader = response.body?.getReader();
  const first = await reader?.read();
  expect(Buffer.from(first?.value ?? []).toString()).toMatch(/"Hello".*\r\n\r\n$/);
  await demo.close();
  await expect(reader?.read()).rejects.toThrow();
});

test('hang never answers, and closing does not wait for it', async () => {
  let arrive = (): void => undefined;
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const demo = await testDemo({ faults: ['hang'], onRequest: () => arrive() });
  const response = demo.post(STREAM, ask('Hello')).then(
    () => 'answered',
    () => 'dropped',
  );
  await arrived;
  await demo.close();
  expect(await response).toBe('dropped');
});

async function readUntilBroken(response: Response): Promise<{ received: string; error: unknown }> {
  let received = '';
  const decoder = new TextDecoder();
  try {
    for await (const chunk of response.body ?? []) received += decoder.decode(chunk, { stream: true });
    return { received, error: undefined };
  } catch (error) {
    return { received, error };
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
