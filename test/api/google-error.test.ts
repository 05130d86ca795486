import { expect, test } from 'vitest';
import {
  findAccountError,
  htmlToText,
  toOneLine,
  tryParseDelay,
  tryParseGoogleError,
} from '../../src/api/google-error.ts';
import { findStatus } from '../../src/core/error.ts';

test('an error body is read with what it holds, and without what it does not', () => {
  const nothing = { message: 'm', reasons: [], metadata: {}, quotaIds: [], links: [] };
  expect(tryParseGoogleError({ error: { message: 'm' } })).toEqual(nothing);
  expect(tryParseGoogleError({ error: { message: 'm', code: 0, status: 1 } })).toEqual(nothing);
  expect(tryParseGoogleError({ message: 'm', code: '404' })).toEqual({ ...nothing, code: 404 });
  expect(tryParseGoogleError({ message: 'm', code: 4.5 })).toEqual(nothing);
  const details = [
    { retryDelay: '' },
    { retryDelay: '2 s', reason: 1, metadata: { a: 'b', c: 1 }, violations: [{ quotaId: 1 }, { quotaId: 'q' }] },
    { retryDelay: '9s', reason: 'R', metadata: 'x', links: [{ url: 1 }, { url: 'u' }] },
    'x',
  ];
  expect(tryParseGoogleError({ error: { message: 'm', status: 'S', details } })).toEqual({
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
  expect(tryParseGoogleError(wrapped(11))).toBeUndefined();
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
  expect(limits(violations)?.quotaLimits).toEqual({ a: 15, g: 0.5 });
  expect(limits(violations.slice(1, 8))).toMatchObject({ quotaLimits: undefined });
});

test('a line is cut only if it is too long, and never through a character', () => {
  expect(toOneLine('12345', 5)).toBe('12345');
  expect(toOneLine('123456', 5)).toBe('12345…');
  expect(toOneLine('😀12345😀', 8)).toBe('😀12345…');
  expect(toOneLine('😀123456', 5)).toBe('😀123…');
});

test('of a text of any length only four times the length of the line is looked at', () => {
  expect(toOneLine(`${' '.repeat(19)}1`, 5)).toBe('1');
  expect(toOneLine(`${' '.repeat(20)}1`, 5)).toBe('');
});

test.for([
  ['a <!-- <b> c --> d', 'a d'],
  ['a <SCRIPT>x > y</script> d', 'a d'],
  ['a <style>p > b {}</style> d', 'a d'],
  ['a <p title="x<script">b</p> d', 'a b d'],
  ['a <b>x<!-- c --> d', 'a x d'],
  [`${' '.repeat(790)}<p>${'word '.repeat(10)}`, 'word '.repeat(10).trim()],
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
