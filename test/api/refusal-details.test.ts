import { expect, test } from 'vitest';
import {
  classifyResponse,
  classifyStreamError,
  type FailedCall,
  msUntilPacificMidnight,
} from '../../src/api/failure.ts';
import {
  findAccountError,
  htmlToText,
  toOneLine,
  tryParseDelay,
  tryParseGoogleError,
} from '../../src/api/google-error.ts';
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

test('the error about an account omits label and links if there are none', () => {
  const trouble = findAccountError(['VALIDATION_REQUIRED'], { detail: '' });
  expect(trouble?.shortMessage).toBe('Google requires this account to be verified first');
  expect(trouble).toMatchObject({ fault: 'auth', hint: 'Verify the account with Google, then try again.' });
  expect(findStatus(trouble)).toBeUndefined();
  const labelled = findAccountError(['TOS_VIOLATION'], { detail: 'Gone.', label: '403', status: 403 });
  expect(labelled?.shortMessage).toMatch(/ terms of service \(403\): Gone\.$/);
  expect(findStatus(labelled)).toBe(403);
  expect(findAccountError(['OTHER'], { detail: '' })).toBeUndefined();
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

test('the error of a call without a model names none', () => {
  const none = { model: undefined };
  expect(told({ ...none, status: 400 }, { message: 'x' }).hint).toContain('--debug');
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

test('an error body is read with what it holds, and without what it does not', () => {
  const nothing = { message: 'm', reasons: [], metadata: {}, quotaIds: [], links: [] };
  expect(tryParseGoogleError({ error: { message: 'm' } })).toStrictEqual(nothing);
  expect(tryParseGoogleError({ error: { message: 'm', code: 0, status: 1 } })).toStrictEqual(nothing);
  expect(tryParseGoogleError({ message: 'm', code: '404' })).toStrictEqual({ ...nothing, code: 404 });
  expect(tryParseGoogleError({ message: 'm', code: 4.5 })).toStrictEqual(nothing);
  const details = [
    { retryDelay: '' },
    { retryDelay: '2 s', reason: 1, metadata: { a: 'b', c: 1 }, violations: [{ quotaId: 1 }, { quotaId: 'q' }] },
    { retryDelay: '9s', reason: 'R', metadata: 'x', links: [{ url: 1 }, { url: 'u' }] },
    'x',
  ];
  expect(tryParseGoogleError({ error: { message: 'm', status: 'S', details } })).toStrictEqual({
    message: 'm',
    status: 'S',
    retryMs: 2000,
    reasons: ['R'],
    metadata: { a: 'b' },
    quotaIds: ['q'],
    links: ['u'],
  });
});

test('an object that says nothing is no error body, one word of it is enough', () => {
  for (const body of ['{}', '{"a":1}', '[]', '7', 'null', '{"error":{}}', '"x"', '']) {
    expect(tryParseGoogleError(body)).toBeUndefined();
  }
  expect(tryParseGoogleError('{"error":"words"}')?.message).toBe('words');
  expect(tryParseGoogleError('{"code":1}')?.code).toBe(1);
  expect(tryParseGoogleError('{"status":"S"}')?.status).toBe('S');
  expect(tryParseGoogleError('{"details":[]}')).toBeDefined();
  expect(tryParseGoogleError('  \u00a0[{"error": {"message":\u00a0"a\u00a0b"}}] ')?.message).toBe('a b');
});

test('what is wrapped is read up to ten times, and an inner error body wins', () => {
  const wrapped = (times: number): string => {
    let body = '{"message":"m"}';
    for (let n = 0; n < times; n += 1) body = JSON.stringify(body);
    return body;
  };
  expect(tryParseGoogleError(wrapped(10))?.message).toBe('m');
  expect(tryParseGoogleError(wrapped(12))).toBeUndefined();
  const nested = (times: number): string =>
    times === 0 ? 'end' : JSON.stringify({ error: { code: 400 + times, message: nested(times - 1) } });
  expect(tryParseGoogleError(nested(3))).toMatchObject({ code: 401, message: 'end' });
  expect(tryParseGoogleError(nested(11))).toMatchObject({ code: 401, message: 'end' });
  expect(tryParseGoogleError(nested(12))).toMatchObject({ code: 402 });
  const inner = JSON.stringify({ error: { message: 'see {"code":7}', status: 'S' } });
  expect(tryParseGoogleError(inner)).toMatchObject({ message: 'see {"code":7}', status: 'S' });
});

test.for([
  ['1 h 2 m', 3_720_000],
  ['', undefined],
  [5, undefined],
  ['x', undefined],
] as const)('%j is a delay of %s ms', ([value, ms]) => {
  expect(tryParseDelay(value)).toBe(ms);
});

test('the limit of a quota is a number above zero, with the id of the quota', () => {
  const violations = [
    ...[{ quotaId: 'a', quotaValue: '15' }, { quotaId: 'b', quotaValue: 0 }, { quotaId: 'c' }],
    ...[
      { quotaId: 4, quotaValue: 1 },
      { quotaId: 'd', quotaValue: 'x' },
      { quotaId: 'e', quotaValue: null },
    ],
    ...[{ quotaValue: 9 }, { quotaId: 'f', quotaValue: -1 }, { quotaId: 'g', quotaValue: 0.5 }],
    ...[{ quotaId: 'h', quotaValue: 'Infinity' }],
  ];
  const limits = (list: readonly object[]) => tryParseGoogleError({ message: 'm', details: [{ violations: list }] });
  expect(limits(violations)?.quotaLimits).toStrictEqual({ a: 15, g: 0.5 });
  expect(limits(violations.slice(1, 8))).not.toHaveProperty('quotaLimits');
});

test('a line is cut only if it is too long, and never through a character', () => {
  expect(toOneLine('12345', 5)).toBe('12345');
  expect(toOneLine('123456', 5)).toBe('12345…');
  expect(toOneLine('😀12345😀', 8)).toBe('😀12345…');
  expect(toOneLine('😀123456', 5)).toBe('😀123…');
});

test.for([
  ['a <!-- <b> c --> d', 'a d'],
  ['a <SCRIPT>x > y</script> d', 'a d'],
  ['a <style>p > b {}</style> d', 'a d'],
  ['a <p title="x<script">b</p> d', 'a b d'],
  ['a <scripts> d', 'a'],
  ['a <b', 'a'],
  ['a <!-- b > c', 'a'],
] as const)('of %j the text %j is visible', ([page, text]) => {
  expect(htmlToText(page)).toBe(text);
});

test.for<readonly [string, string]>([
  ['a list', '[{"error":{"code":429,"message":"m"}}]'],
  ['a string', '"{\\"error\\":{\\"code\\":429,\\"message\\":\\"m\\"}}"'],
  ['other text around', 'got {"error":{"code":429,"message":"m"}} from upstream'],
  ['doubled commas', '{"error":{"code":429,,\n,"message":"m"}}'],
  ['no-break spaces', '\u00a0{"error":\u00a0{"code":429,"message":"m"}}'],
  [
    'nested in a message',
    JSON.stringify({ error: { message: JSON.stringify({ error: { code: 429, message: 'm' } }) } }),
  ],
  ['no error key', '{"code":429,"message":"m"}'],
])('an error body is understood with %s', ([, body]) => {
  expect(tryParseGoogleError(body)).toMatchObject({ code: 429, message: 'm' });
});

test('braces in a sentence stay part of it', () => {
  expect(tryParseGoogleError('{"error":{"message":"use {} or {\\"a\\":1}"}}')?.message).toBe('use {} or {"a":1}');
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
