import { expect, test } from 'vitest';
import { ask, errorOf, events, testDemo } from './support.ts';

const BASE = '/v1internal';

test('a generate call goes through the envelope both ways', async () => {
  const demo = await testDemo();
  const body = {
    model: 'gemini-2.5-flash',
    project: 'p',
    user_prompt_id: 'u',
    request: { ...ask('Hello'), session_id: 's' },
  };
  const list = await events(await demo.post(`${BASE}:streamGenerateContent?alt=sse`, body));
  expect(list).toHaveLength(3);
  expect(list[2]).toEqual({
    response: {
      candidates: [
        { content: { parts: [{ text: ' I help you today?' }], role: 'model' }, finishReason: 'STOP', index: 0 },
      ],
      usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 12, totalTokenCount: 17 },
      modelVersion: 'gemini-2.5-flash',
      responseId: 'demo-000001',
    },
    traceId: 'demo-000001',
  });
  const whole = await (await demo.post(`${BASE}:generateContent`, body)).json();
  expect(whole.response.candidates[0].content.parts).toEqual([{ text: 'Hello! How can I help you today?' }]);
});

test.each([
  [ask('Hello'), /Unknown name "contents"/],
  [{ model: 'gemini-2.5-flash' }, /The envelope holds no request/],
])('%j is not an envelope', async (body, message) => {
  const response = await (await testDemo()).post(`${BASE}:generateContent`, body);
  expect(response.status).toBe(400);
  expect((await errorOf(response)).message).toMatch(message);
});

test('the envelope names the model without a prefix, counting with one', async () => {
  const demo = await testDemo();
  const prefixed = { model: 'models/gemini-2.5-flash', request: ask('Hello') };
  expect((await demo.post(`${BASE}:generateContent`, prefixed)).status).toBe(404);
  const count = await demo.post(`${BASE}:countTokens`, {
    request: { model: 'models/gemini-2.5-flash', ...ask('Hello') },
  });
  expect(await count.json()).toEqual({ totalTokens: 5 });
});

test('a known account has a tier and the project it asked for', async () => {
  const demo = await testDemo();
  const load = async (body: object): Promise<Record<string, unknown>> =>
    (await demo.post(`${BASE}:loadCodeAssist`, body)).json();
  expect(await load({})).toMatchObject({
    currentTier: { id: 'standard-tier' },
    cloudaicompanionProject: 'demo-project',
  });
  expect(await load({ cloudaicompanionProject: 'mine' })).toMatchObject({ cloudaicompanionProject: 'mine' });
});

test('a new account is onboarded after one poll', async () => {
  const demo = await testDemo({ faults: ['new-user'] });
  const before = await (await demo.post(`${BASE}:loadCodeAssist`, {})).json();
  expect(before.currentTier).toBeUndefined();
  expect(before.allowedTiers[0]).toMatchObject({ id: 'free-tier', isDefault: true });
  const started = await (await demo.post(`${BASE}:onboardUser`, { tierId: 'free-tier' })).json();
  expect(started).toEqual({ name: 'operations/demo-onboarding', done: false });
  const polled = await (await demo.get(`${BASE}/${started.name}`)).json();
  expect(polled).toEqual({
    name: started.name,
    done: true,
    response: { cloudaicompanionProject: { id: 'demo-project', name: 'demo-project' } },
  });
  expect((await (await demo.post(`${BASE}:loadCodeAssist`, {})).json()).currentTier.id).toBe('standard-tier');
});

test('the free tier does not take a project', async () => {
  const body = { tierId: 'free-tier', cloudaicompanionProject: 'p' };
  const response = await (await testDemo()).post(`${BASE}:onboardUser`, body);
  expect(await errorOf(response)).toMatchObject({ code: 400, status: 'FAILED_PRECONDITION' });
});

test('the methods around the model answer', async () => {
  const demo = await testDemo();
  const post = async (method: string, body: object = {}): Promise<unknown> =>
    (await demo.post(`${BASE}:${method}`, body)).json();
  expect(await post('listExperiments')).toEqual({ experimentIds: [], flags: [] });
  expect(await post('fetchAdminControls')).toEqual({ adminControlsApplicable: false });
  expect(await post('recordCodeAssistMetrics')).toEqual({});
  expect(await post('retrieveUserQuota')).toMatchObject({
    buckets: expect.arrayContaining([
      {
        resetTime: '2026-11-16T09:00:00.000Z',
        tokenType: 'REQUESTS',
        modelId: 'gemini-2.5-flash',
        remainingFraction: 1,
        remainingAmount: '1000',
      },
    ]),
  });
  expect(await post('setCodeAssistGlobalUserSetting', { freeTierDataCollectionOptin: true })).toEqual({
    cloudaicompanionProject: 'demo-project',
    freeTierDataCollectionOptin: true,
  });
  expect(await (await demo.get(`${BASE}:getCodeAssistGlobalUserSetting`)).json()).toMatchObject({
    freeTierDataCollectionOptin: true,
  });
});

test.each(['UNSUPPORTED_CLIENT', 'VALIDATION_REQUIRED'])('%s makes the account ineligible', async (fault) => {
  const demo = await testDemo({ faults: [fault] });
  const loaded = await (await demo.post(`${BASE}:loadCodeAssist`, {})).json();
  expect(loaded.currentTier).toBeUndefined();
  expect(loaded.ineligibleTiers).toMatchObject([{ reasonCode: fault }]);
  const body = { model: 'gemini-2.5-flash', request: ask('a') };
  const error = await errorOf(await demo.post(`${BASE}:generateContent`, body));
  expect(error).toMatchObject({
    code: 403,
    details: expect.arrayContaining([
      expect.objectContaining({ reason: fault, domain: 'cloudcode-pa.googleapis.com' }),
    ]),
  });
});

test('a suspended account gets an error at once, with the link to appeal', async () => {
  const demo = await testDemo({ faults: ['TOS_VIOLATION'] });
  const error = await errorOf(await demo.post(`${BASE}:loadCodeAssist`, {}));
  expect(error).toMatchObject({
    code: 403,
    details: [{ reason: 'TOS_VIOLATION', metadata: { appeal_url: expect.any(String) } }],
  });
});

test('quota errors carry the reasons of this service', async () => {
  const body = { model: 'gemini-2.5-pro', request: ask('a') };
  for (const [fault, reason] of [
    ['429', 'RATE_LIMIT_EXCEEDED'],
    ['429-daily', 'QUOTA_EXHAUSTED'],
  ] as const) {
    const demo = await testDemo({ faults: [fault] });
    const error = await errorOf(await demo.post(`${BASE}:generateContent`, body));
    expect(error.details?.[0]).toMatchObject({ reason, domain: 'cloudcode-pa.googleapis.com' });
  }
});
