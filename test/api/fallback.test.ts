import { expect, type TestContext, test } from 'vitest';
import { BUILT_IN } from '../../src/models/table.ts';
import { converse, modelAt, REQUEST } from './conversation.ts';
import { answer, event, loopback, reply, stream, whole } from './loopback.ts';

/** What is told, asked for and remembered where the default answers 404 with this body. */
async function asked(t: TestContext, body: string, status = 404, type = 'application/json') {
  const remembered: string[] = [];
  const fallback = {
    from: REQUEST.model,
    to: 'heir',
    choose: BUILT_IN.choose,
    generationConfig: () => ({ topK: 1 }),
    remember: async () => void remembered.push('heir'),
  };
  const gone = answer(status, body, { 'content-type': type });
  const { server, ...outcome } = await converse(t, [gone, whole('hi')], { fallback });
  const models = server.requests.map(({ head }) => /models\/([\w-]+)/.exec(head)?.[1]);
  return { ...outcome, remembered, models, last: JSON.parse(server.requests.at(-1)?.body ?? '') };
}

test.for([
  [
    '{"error":{"code":404,"status":"NOT_FOUND","message":"Requested entity was not found."}}',
    'model gemini-test not found, or not open to you (404 NOT_FOUND): Requested entity was not found; using heir (set GMN_MODEL to choose)',
  ],
  [
    '{"error":{"message":"models/gemini-test is no longer available"}}',
    'model gemini-test is retired (404): models/gemini-test is no longer available; using heir (set GMN_MODEL to choose)',
  ],
] as const)('%s takes the default away', async ([body, message], t) => {
  const { events, remembered, models, last } = await asked(t, body);
  expect(events).toEqual([
    { type: 'wait', what: 'gemini-test' },
    { type: 'notice', message },
    { type: 'wait', what: 'heir' },
    { type: 'begin', model: 'heir' },
    { type: 'text', delta: 'hi' },
  ]);
  expect(models).toEqual(['gemini-test', 'heir']);
  expect(last.generationConfig).toEqual({ topK: 1 });
  expect(remembered).toEqual(['heir']);
});

const BARE = { code: 404, status: 'NOT_FOUND', message: 'Requested entity was not found.' };

test('bare JSON in a stream retires the default as well, and is asked again if it may pass', async (t) => {
  const retired = await asked(t, `${JSON.stringify({ error: BARE }, undefined, 2)}\n`, 200, 'text/event-stream');
  expect(retired).toMatchObject({ models: ['gemini-test', 'heir'], remembered: ['heir'] });
  const busy = { error: { code: 503, status: 'UNAVAILABLE', message: 'Busy.' } };
  const again = await asked(t, `[${JSON.stringify(busy, undefined, 2)}]`, 200, 'text/event-stream');
  expect(again).toMatchObject({ models: ['gemini-test', 'gemini-test'], remembered: [] });
  expect(again.events).toContainEqual({ type: 'text', delta: 'hi' });
});

test.for(['', '<html><h1>404</h1></html>', '{"message":"Not Found"}', '{"error":{"code":404,"message":"no route"}}'])(
  '%j is a wrong address, and retires nothing',
  async (body, t) => {
    expect(await asked(t, body)).toMatchObject({
      events: [
        { type: 'wait', what: 'gemini-test' },
        { type: 'begin', model: 'gemini-test' },
      ],
      models: ['gemini-test'],
      remembered: [],
      error: { fault: 'api', message: expect.stringContaining('there is nothing at this address (404)') },
    });
  },
);

const BUSY = answer(503, '{"error":{"code":503,"status":"UNAVAILABLE","message":"Busy."}}');

test('a model that had no room is asked again if no other answered, and after five minutes', async (t) => {
  const server = await loopback(t, [BUSY, BUSY, BUSY, whole('b'), whole('b'), whole('a')]);
  let now = 1_000_000;
  const clock = { now: () => now, sleep: async () => {} };
  const alternatives = [{ to: 'other', generationConfig: () => ({}) }];
  const model = modelAt(server.url, { alternatives, retries: 0 }, { clock, trace: () => {} });
  const ask = async (): Promise<void> => {
    const stream = model.stream(REQUEST, new AbortController().signal);
    while (!(await stream.next()).done);
  };
  const models = () => server.requests.map(({ head }) => /models\/([\w-]+)/.exec(head)?.[1]);
  await expect(ask()).rejects.toThrow('Busy.');
  await ask();
  await ask();
  expect(models()).toEqual(['gemini-test', 'other', 'gemini-test', 'other', 'other']);
  now += 300_000;
  await ask();
  expect(models().at(-1)).toBe('gemini-test');
});

test('while nothing was shown, another model is asked although the first gave a token', async (t) => {
  const thought = event(reply([{ text: 'a', thought: true }], { continuationToken: 'z' }));
  const busy = event({ error: { code: 503, status: 'UNAVAILABLE', message: 'Busy.' } });
  const alternatives = [{ to: 'other', generationConfig: () => ({}) }];
  const { text, server } = await converse(t, [stream([thought, busy]), whole('hi')], { alternatives });
  expect([text, server.requests.length]).toEqual(['hi', 2]);
});
