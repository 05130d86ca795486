import { expect, test } from 'vitest';
import { tryParseGoogleError } from '../../src/api/google-error.ts';
import { createFaultBook, parseFaults } from '../../src/demo/fault.ts';
import { createQuotaBook } from '../../src/demo/quota.ts';
import { ask, STREAM, testDemo } from './support.ts';

const START = Date.UTC(2026, 10, 15, 9, 0, 20);

function quotas(spec: string, clock: { now: number }) {
  const book = createQuotaBook(createFaultBook(parseFaults([spec])), {
    now: () => clock.now,
    sleep: async () => undefined,
  });
  return (tokens = 1, model = 'gemini-3.8-flash') => {
    const refused = book.admit({ backend: 'gemini', model, promptTokens: () => tokens });
    return refused === undefined ? undefined : tryParseGoogleError(refused.body);
  };
}

test('so many requests a minute are answered, the next is told to wait for the next minute', () => {
  const clock = { now: START };
  const call = quotas('rpm=2', clock);
  expect([call(), call()]).toEqual([undefined, undefined]);
  expect(call()).toMatchObject({
    code: 429,
    status: 'RESOURCE_EXHAUSTED',
    quotaIds: ['GenerateRequestsPerMinutePerProjectPerModel-FreeTier'],
    retryMs: 40_000,
  });
  expect(call(1, 'gemini-3.5-flash')).toBeUndefined();
  clock.now += 40_000;
  expect(call()).toBeUndefined();
});

test('tokens of refused requests are not counted', () => {
  const clock = { now: START };
  const call = quotas('tpm=100', clock);
  expect(call(60)).toBeUndefined();
  expect(call(60)?.quotaIds).toEqual(['GenerateContentInputTokensPerModelPerMinute-FreeTier']);
  expect(call(40)).toBeUndefined();
});

test('a daily quota ends at midnight in California, and names no short wait', () => {
  const clock = { now: START };
  const call = quotas('daily=1', clock);
  expect(call()).toBeUndefined();
  const refused = call();
  expect(refused?.quotaIds).toEqual(['GenerateRequestsPerDayPerProjectPerModel-FreeTier']);
  expect(refused?.retryMs).toBeUndefined();
  clock.now = Date.UTC(2026, 10, 16, 7, 59);
  expect(call()).toBeDefined();
  clock.now = Date.UTC(2026, 10, 16, 8, 0);
  expect(call()).toBeUndefined();
});

test('503 comes in bursts', () => {
  const call = quotas('503-burst=3', { now: START });
  const refused = Array.from({ length: 206 }, (_value, index) => (call()?.code === 503 ? [index] : [])).flat();
  expect(refused).toEqual([100, 101, 102, 203, 204, 205]);
});

test('the server answers with every quota that is used up, and its value', async () => {
  const demo = await testDemo({ faults: ['rpm=1,daily=1'], now: () => START });
  expect((await demo.post(STREAM, ask('Hello'))).status).toBe(200);
  const response = await demo.post(STREAM, ask('Hello'));
  expect(response.status).toBe(429);
  const { error } = await response.json();
  expect(error.details[0].violations).toEqual([
    {
      quotaMetric: 'generativelanguage.googleapis.com/generate_content_free_tier_requests',
      quotaId: 'GenerateRequestsPerDayPerProjectPerModel-FreeTier',
      quotaValue: '1',
      quotaDimensions: { location: 'global', model: 'gemini-2.5-flash' },
    },
    {
      quotaMetric: 'generativelanguage.googleapis.com/generate_content_free_tier_requests',
      quotaId: 'GenerateRequestsPerMinutePerProjectPerModel-FreeTier',
      quotaValue: '1',
      quotaDimensions: { location: 'global', model: 'gemini-2.5-flash' },
    },
  ]);
  const minute = await (await testDemo({ faults: ['rpm=0'], now: () => START })).post(STREAM, ask('Hello'));
  expect(minute.headers.get('retry-after')).toBe('40');
  expect((await minute.json()).error.details[1]).toMatchObject({ retryDelay: '40s' });
});
