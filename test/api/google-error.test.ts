import { expect, test } from 'vitest';
import { tryParseGoogleError } from '../../src/api/google-error.ts';

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
