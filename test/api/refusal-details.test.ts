import { expect, test } from 'vitest';
import { classifyResponse, classifyStreamError } from '../../src/api/failure.ts';
import type { FailedCall } from '../../src/api/failure-case.ts';
import { msUntilPacificMidnight } from '../../src/api/quota-failure.ts';
import { type AppError, findStatus } from '../../src/core/error.ts';

/** What is found only by those who look closely: the edges between one kind of refusal and the next. */
const PLAIN: FailedCall = {
  status: 429,
  headers: {},
  body: '',
  model: 'models/gemini-x',
  credential: 'account',
  authHint: 'AUTH HINT',
  secrets: new Set(),
};

const bodyOf = (error: object): string => JSON.stringify({ error });
const reason = (name: string, metadata = {}) => ({ reason: name, metadata });

function told(change: Partial<FailedCall>, error?: object) {
  const { fault, message, hint, retry, details } = classifyResponse({
    ...PLAIN,
    ...(error === undefined ? {} : { body: bodyOf(error) }),
    ...change,
  });
  const { status, objection, windowTokens } = details as AppError<'api'>['details'];
  return { fault, message, hint, retry, status, objection, windowTokens };
}

test('only 3xx redirects, from the first to the last, to a host that is named', () => {
  const words = (status: number) => told({ status, headers: { location: 'https://evil.test:8/login?x=1' } }).message;
  for (const status of [300, 399]) {
    expect(words(status)).toBe(`API error: the server redirects to evil.test:8 (${status}), which gmn does not follow`);
  }
  for (const status of [299, 400]) expect(words(status)).not.toContain('redirects');
  expect(told({ status: 301 }).message).toBe('API error: the server redirects (301), which gmn does not follow');
  expect(told({ status: 301 }).status).toBe(301);
});

test('a body that is no error of Google is quoted, and decides nothing', () => {
  expect(told({ status: 403, body: 'plain words' })).toMatchObject({
    fault: 'api',
    message: 'API error: permission denied (403): plain words',
  });
  expect(told({ status: 418, body: '' })).toMatchObject({
    message: 'API error: request refused (418)',
    hint: 'Run again with --debug to see which server answered.',
  });
});

test('a key is at fault only where the reason begins so, and the status says invalid', () => {
  expect(told({ status: 400 }, { details: [reason('MY_API_KEY_X')] }).fault).toBe('api');
  expect(told({ status: 404 }, { message: 'x', details: [reason('API_KEY_INVALID')] }).fault).toBe('api');
  expect(told({ status: 400 }, { details: [reason('OTHER'), reason('API_KEY_EXPIRED')] }).fault).toBe('auth');
});

const RESTRICTED =
  'The key is restricted: change what it may be used for at https://console.cloud.google.com/apis/credentials, or make another one.';
const REFUSED = 'Google refuses the project of this key: use a key of another project, or ask Google about this one.';

test.for([
  ['API_KEY_HTTP_REFERRER_BLOCKED', RESTRICTED],
  ['MY_API_KEY_SERVICE_BLOCKED', 'AUTH HINT'],
  ['API_KEY_SERVICE_BLOCKED_X', 'AUTH HINT'],
  ['CONSUMER_SUSPENDED', REFUSED],
  ['CONSUMER_INVALID', REFUSED],
  ['USER_PROJECT_DENIED', REFUSED],
  ['MY_CONSUMER_INVALID', 'AUTH HINT'],
  ['CONSUMER_INVALID_X', 'AUTH HINT'],
] as const)('after 403 %s the next step with a key is: %s', ([name, hint]) => {
  expect(told({ status: 403, credential: 'key' }, { details: [reason(name)] })).toMatchObject({ fault: 'auth', hint });
});

test('where no field tells that the project is refused, the message does', () => {
  const hint = (message: string) => told({ status: 403, credential: 'key' }, { message }).hint;
  expect(hint("Consumer 'api_key:1' of projects/1 has been suspended.")).toBe(REFUSED);
  expect(hint('Your project was long ago denied access.')).toBe(REFUSED);
  expect(hint('This project is not denied.')).toBe('AUTH HINT');
});

test('a refused model is named by the message or the details; without a role, none can be used', () => {
  const words = (error: object) => told({ status: 403 }, error).message;
  const refused = 'model models/gemini-x refused';
  expect(words({ message: 'No gemini-x for you.' })).toContain(refused);
  expect(words({ message: 'No.', details: [reason('X', { resource: 'models/gemini-x' })] })).toContain(refused);
  expect(words({ message: 'No.', details: [reason('X', { model: 'gemini-x' })] })).toContain(refused);
  expect(words({ message: 'No gemini-x.', details: [reason('IAM_PERMISSION_DENIED')] })).toContain('permission denied');
});

test('where an account is verified is read from the details too', () => {
  const link = { validation_link: 'https://accounts.google.com/v' };
  const hint = (metadata: object) => told({ status: 403 }, { details: [reason('VALIDATION_REQUIRED', metadata)] }).hint;
  expect(hint(link)).toBe('Open the link, verify the account, then try again: https://accounts.google.com/v');
  expect(hint({ validation_link: 'https://google.com/v' })).toContain(': https://google.com/v');
  for (const bad of ['http://accounts.google.com/v', 'https://notgoogle.com/', 'https://google.com.x/', 'x']) {
    expect(hint({ validation_link: bad })).toBe('Verify the account with Google, then try again.');
  }
  expect(hint({})).toBe('Verify the account with Google, then try again.');
});

test('an API that is off is switched on in Google’s console alone', () => {
  const hint = (metadata: object) => told({ status: 403 }, { details: [reason('SERVICE_DISABLED', metadata)] });
  const plain = 'Enable the API in the Google Cloud console.';
  expect(hint({})).toMatchObject({ message: 'API error: the API is not enabled (403)', hint: plain });
  expect(hint({ activationUrl: 'https://evil.test/' }).hint).toBe(plain);
  expect(hint({ project: 'p' }).message).toBe('API error: the API is not enabled for p (403)');
});

test.for([
  'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
  'token count will exceed the limit',
  'tokens exceeds',
  'This would exceed the token limit',
  'It exceeds the number of tokens',
])('%j is about the length', (message) => {
  expect(told({ status: 400 }, { message })).toMatchObject({
    fault: 'api',
    message: `API error: the prompt is longer than the model's window (400): ${message}`,
    hint: 'Send less at once. To see how long it is: --count-tokens',
    objection: 'length',
    windowTokens: message.includes('(1048576)') ? 1_048_576 : undefined,
  });
});

test.for([
  ['Function call is missing a thought_signature.', 'signature'],
  ['the thought signature is wrong', 'signature'],
  ['Thoughtsignature', 'signature'],
  ['a thoughtful signature', undefined],
  ['thought-signature', undefined],
  ['the tokenizer exceedingly', undefined],
  [`token ${'x'.repeat(61)} exceeds`, undefined],
] as const)('%j objects to %s', ([message, objection]) => {
  expect(told({ status: 400 }, { message })).toMatchObject({
    message: expect.stringContaining('API error: invalid request (400): '),
    hint: 'Check the prompt, the attachments and the flags.',
    objection,
  });
});

test.for([
  ['Request payload size exceeds the limit.', true],
  ['One page may not exceed it.', true],
  ['It would exceed 1000 pages.', true],
  ['It exceeds one page.', true],
  ['Exceeding 20 MB is not possible.', true],
  ['The limit was exceeded by 2 GiB.', true],
  ['It exceeds all bounds.', false],
  ['The size of the pages is wrong.', false],
] as const)('%j is about the size: %s', ([message, isLarge]) => {
  expect(told({ status: 400 }, { message })).toMatchObject(
    isLarge
      ? { message: `API error: the request is too large (400): ${message}`, hint: 'Send fewer or smaller files.' }
      : { message: `API error: invalid request (400): ${message}` },
  );
});

test.for([
  'The free tier is not available in your country.',
  'A free quota tier is currently not available.',
  'This model does not have a free tier.',
  "This model doesn't have a free quota tier.",
])('%j is about the plan, with 400 and with 429', (message) => {
  for (const status of [400, 429]) {
    expect(told({ status }, { message })).toMatchObject({
      message: `API error: no quota for models/gemini-x (${status}): ${message}`,
      hint: 'Your plan does not include it: choose another model with -m, or enable billing: https://aistudio.google.com/billing',
    });
  }
});

test('the error of a call without a model names none', () => {
  const none = { model: undefined };
  expect(told({ ...none, status: 400 }, { message: 'x' }).hint).toContain('--debug');
  expect(told({ ...none, status: 403 }, { message: 'x' }).message).toBe('API error: permission denied (403): x');
  expect(told({ ...none, status: 404 })).toMatchObject({
    message: 'API error: the server does not offer this call (404)',
    hint: expect.stringContaining('Check the address: '),
  });
  expect(told({ ...none, status: 404, asks: 'counting' }).message).toContain('does not offer counting (404)');
  expect(told({ ...none, status: 429 })).toMatchObject({
    message: 'API error: quota exceeded (429)',
    hint: 'Try again later.',
  });
});

test('a model is missing if the server says so by status, or by the last part of its name', () => {
  const words = (model: string, message: string) => told({ status: 404, model }, { message });
  expect(words('models/gemini-x', 'gemini-x is gone')).toMatchObject({ objection: 'model' });
  expect(words('a\nb/gemini-x', 'gemini-x is gone')).toMatchObject({ objection: 'model' });
  expect(words('models/gemini-x', 'models are gone').objection).toBeUndefined();
  expect(words('models/', 'all is gone').objection).toBeUndefined();
  expect(told({ status: 404, notFoundHint: 'LOOK' }, { status: 'NOT_FOUND' })).toMatchObject({
    hint: 'LOOK',
    objection: 'model',
  });
  for (const body of ['<html>no</html>', '']) expect(told({ status: 404, body }).objection).toBeUndefined();
  expect(told({ status: 400 }, { status: 'NOT_FOUND' }).objection).toBeUndefined();
});

test.for([
  [408, true],
  [429, true],
  [499, true],
  [500, true],
  [599, true],
  [409, false],
  [498, false],
] as const)('%i may pass by itself: %s', ([status, passes]) => {
  expect(told({ status }).retry).toEqual(passes ? {} : undefined);
});

test.for([
  [429, true],
  [499, true],
  [503, true],
  [500, false],
  [408, false],
] as const)('a quota that is used up is final with %i: %s', ([status, isFinal]) => {
  const used = told({ status }, { details: [reason('QUOTA_EXHAUSTED')] });
  expect(used.retry === undefined).toBe(isFinal);
});

test('capacity has two names, and a quota of zero has two spellings', () => {
  for (const name of ['MODEL_CAPACITY_EXHAUSTED', 'MODEL_CAPACITY_EXCEEDED']) {
    expect(told({}, { details: [reason('X'), reason(name)] }).message).toContain('no capacity for models/gemini-x');
  }
  for (const message of ['limit: 0', 'limit:0, model', 'x limit: 0']) {
    expect(told({}, { message }).message).toContain('no quota for');
  }
  for (const message of ['limit: 01', 'limit: 0x', 'nolimit: 0', 'limit:  0']) {
    expect(told({}, { message }).message).toContain('quota exceeded for');
  }
});

test('the reset of a quota is reported as the server gives it, and it is of a day only if the body says so', () => {
  const hint = (metadata: object) => told({}, { details: [reason('QUOTA_EXHAUSTED', metadata)] }).hint;
  expect(hint({ quotaResetTimeStamp: '2026-05-02T07:00:00Z' })).toBe(
    'It resets at 2026-05-02T07:00:00Z. Until then choose another model with -m.',
  );
  expect(hint({ quotaResetDelay: '1h' })).toBe('It resets in 1 h. Until then choose another model with -m.');
  expect(hint({})).toBe('The service does not say when it resets. Until then choose another model with -m.');
  expect(hint({ quota_limit: 'RequestsPerDayPerUser' })).toContain('midnight Pacific');
  expect(told({}, { details: [reason('QUOTA_EXHAUSTED')] }).message).toContain('quota used up for');
  const daily = (quotaId: string) => told({}, { details: [{ violations: [{}, { quotaId }] }] }).message;
  expect(daily('RequestsDaily')).toContain('daily quota');
  expect(daily('PerHour')).toContain('quota exceeded for');
});

test.for<readonly [string, object, boolean]>([
  ['nothing of its reset', {}, true],
  ['25 hours', { quotaResetDelay: '25h' }, true],
  ['a second more', { quotaResetDelay: '25h1s' }, false],
  ['25 hours by its date', { quotaResetTimeStamp: '2026-10-22T08:28:00Z' }, true],
  ['a second more by its date', { quotaResetTimeStamp: '2026-10-22T08:28:01Z' }, false],
  ['no date', { quotaResetTimeStamp: 'soon' }, true],
  ['an hour and another date', { quotaResetDelay: '1h', quotaResetTimeStamp: '2026-12-24T00:00:00Z' }, true],
])('a quota that calls itself daily, and says %s, is of a day: %s', ([, metadata, isDaily]) => {
  const headers = { date: 'Wed, 21 Oct 2026 07:28:00 GMT' };
  const details = [reason('X', { quota_limit: 'RequestsPerDay', ...metadata })];
  expect(told({ headers }, { details }).message).toContain(isDaily ? 'daily quota exceeded' : 'quota used up');
  expect(
    told({}, { details: [reason('X', { quota_limit: 'RequestsPerDay', quotaResetTimeStamp: '2030-01-01' })] }),
  ).toMatchObject({ message: expect.stringContaining('daily quota exceeded') });
});

test.for([
  ['Please retry in 250ms.', 250],
  ['Please retry in 12.5s.', 12_500],
  ['retry in 1m2s', 62_000],
  ['RETRY IN 10m12.5s', 612_500],
  ['retry in 11h10m5s', 40_205_000],
  ['retry in 2h5s', 7_205_000],
  ['retry in 5', undefined],
  ['retry in .5s', undefined],
  ['retry in 5sec', undefined],
  ['noretry in 5s', undefined],
] as const)('%j asks to wait %s ms', ([message, afterMs]) => {
  const { retry, hint } = told({}, { message });
  if (afterMs !== undefined && afterMs > 60_000)
    expect([retry, hint]).toEqual([undefined, expect.stringMatching(/asks to wait/)]);
  else expect(retry).toEqual(afterMs === undefined ? {} : { afterMs });
});

test.for([
  [{ 'retry-after': ' 12 ' }, 12_000],
  [{ 'retry-after': '12s' }, undefined],
  [{ 'retry-after': 'x12' }, undefined],
  [{ 'retry-after': '-1' }, undefined],
  [{ 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' }, undefined],
  [{ 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT', date: 'Wed, 21 Oct 2026 07:29:00 GMT' }, 0],
  [{}, undefined],
] as const)('the header %j asks to wait %s ms', ([headers, afterMs]) => {
  expect(told({ headers }).retry).toEqual(afterMs === undefined ? {} : { afterMs });
});

test('a minute is waited for a quota by the minute, wherever it is named', () => {
  const limit = { metadata: { quota_limit: 'RequestsPerMinutePerUser' } };
  expect(told({}, { details: [limit] }).retry).toEqual({ afterMs: 60_000 });
  expect(told({}, { details: [{ metadata: { quota_limit: 'PerHour' } }] }).retry).toEqual({});
});

const MINUTE = { quotaId: 'RequestsPerMinutePerProject', quotaValue: '15' };
const TOKENS = { quotaId: 'InputTokensPerMinute', quotaValue: 250_000 };

test.for<readonly [string, Partial<FailedCall>, object, object | undefined]>([
  ['a limit per minute', {}, { details: [{ violations: [MINUTE, TOKENS] }] }, { per: 'minute', limit: 15 }],
  ['tokens', {}, { details: [{ violations: [TOKENS] }] }, { per: 'minute', of: 'tokens', limit: 250_000 }],
  ['no number', {}, { details: [{ violations: [{ quotaId: 'PerMinute' }] }] }, { per: 'minute' }],
  [
    'tokens of Code Assist',
    {},
    { details: [reason('X', { quota_limit: 'TokensPerMinutePerUser' })] },
    { per: 'minute', of: 'tokens' },
  ],
  [
    'another limit',
    {},
    { details: [{ violations: [{ quotaId: 'TokensPerHour', quotaValue: 5 }] }] },
    { per: 'minute' },
  ],
  [
    'a long wait',
    {},
    { details: [{ violations: [MINUTE] }, { retryDelay: '90s' }] },
    { per: 'minute', limit: 15, waitMs: 90_000 },
  ],
  [
    'a long wait for a server',
    { status: 503 },
    { details: [{ retryDelay: '90s' }] },
    { per: 'minute', waitMs: 90_000 },
  ],
  ['a server that failed', { status: 503 }, { message: 'x' }, undefined],
  ['no quota at all', {}, { message: 'limit: 0' }, { per: 'plan' }],
  ['no credits', {}, { details: [reason('INSUFFICIENT_G1_CREDITS_BALANCE')] }, { per: 'plan' }],
  [
    'a day',
    {},
    { details: [reason('QUOTA_EXHAUSTED'), { violations: [{ quotaId: 'RequestsPerDay' }] }] },
    { per: 'day', resets: 'It resets at midnight Pacific time.' },
  ],
])('a refusal because of %s says which quota it was', ([, change, error, quota]) => {
  const { details } = classifyResponse({ ...PLAIN, body: bodyOf(error), ...change }) as AppError<'api'>;
  expect(details.quota).toEqual(quota);
});

test('an error inside a stream has the status it names, or that of a broken server', () => {
  const status = (error: unknown) =>
    findStatus(classifyStreamError({ ...PLAIN, body: typeof error === 'string' ? error : JSON.stringify({ error }) }));
  expect([400, 599].map((code) => status({ code }))).toEqual([400, 599]);
  expect([399, 600, 0, 'x'].map((code) => status({ code, message: 'x' }))).toEqual([500, 500, 500, 500]);
  expect(status('no JSON')).toBe(500);
});

const HOUR_MS = 3_600_000;

test.each([
  ['2026-11-15T08:00:00Z', 24 * HOUR_MS],
  ['2026-11-15T07:59:59Z', 1000],
  ['2026-11-15T01:48:00Z', 6.2 * HOUR_MS],
  ['2026-07-01T06:00:00Z', HOUR_MS],
])('from %s the day in California lasts another %d ms', (now, ms) => {
  expect(msUntilPacificMidnight(Date.parse(now))).toBe(ms);
});

test("a daily quota says by the server's clock in how long it resets", () => {
  const violations = [{ quotaId: 'GenerateRequestsPerDayPerProjectPerModel' }];
  const headers = { date: 'Sun, 15 Nov 2026 01:48:00 GMT' };
  expect(told({ headers }, { message: 'Slow down.', details: [{ violations }] }).hint).toBe(
    'It resets at midnight Pacific time, in 6 h 12 min. Until then choose another model with -m.',
  );
});

test('secrets go from what is quoted, not from what decides', () => {
  const details = [{ reason: 'API_KEY_INVALID' }];
  const body = JSON.stringify({ error: { message: 'API_KEY_INVALID: a-secret-01', status: 'a-secret-01', details } });
  const about = { ...PLAIN, secrets: new Set(['API_KEY_INVALID', 'a-secret-01']) };
  const { fault, shortMessage } = classifyResponse({ ...about, status: 400, body });
  expect([fault, shortMessage]).toEqual(['auth', '‹redacted›: ‹redacted› (400 ‹redacted›)']);
  // Cut first, half of it would stand there.
  const page = classifyResponse({ ...about, status: 418, body: `<p>${'x'.repeat(195)}a-secret-01</p>` });
  expect(page.shortMessage).toBe(`request refused (418): ${'x'.repeat(195)}‹reda…`);
});
