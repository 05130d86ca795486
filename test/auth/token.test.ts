import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isFresh, toExpiry, tryParseOauthFile, tryParsePassword } from '../../src/auth/token.ts';

const NOW = 1_794_800_000_000;
const HOUR_MS = 3_600_000;

test('whatever stands in the file, reading it never throws and never gives a key of the wrong type', () => {
  const fields = fc.record(
    {
      access_token: fc.anything(),
      refresh_token: fc.anything(),
      expiry_date: fc.anything(),
      id_token: fc.oneof(
        fc.anything(),
        fc.string().map((text) => `a.${Buffer.from(text).toString('base64url')}.c`),
      ),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.oneof(fields, fc.anything()), (value) => {
      const token = tryParseOauthFile(value, NOW);
      for (const text of [token?.accessToken, token?.refreshToken, token?.subject]) {
        expect(text === undefined || (typeof text === 'string' && text !== '')).toBe(true);
      }
      expect(token?.expiresAt === undefined || Number.isFinite(token.expiresAt)).toBe(true);
    }),
  );
});

test('an expiry is never beyond what an access token can live', () => {
  fc.assert(
    fc.property(fc.oneof(fc.double(), fc.integer(), fc.string(), fc.anything()), (value) => {
      const expiry = toExpiry(value, NOW);
      expect(expiry === undefined || (expiry >= 0 && expiry <= NOW + 48 * HOUR_MS)).toBe(true);
    }),
  );
});

test('text that is no JSON, or no password of the official CLI, is nothing', () => {
  fc.assert(fc.property(fc.string(), (text) => void tryParsePassword(text, NOW)));
  expect(tryParsePassword('{"token":{"accessToken":"a","expiresAt":1794800000000}}', NOW)).toEqual({
    accessToken: 'a',
    expiresAt: NOW,
  });
});

test('a token is fresh while it has more than five minutes', () => {
  const ending = (expiresAt: number) => isFresh({ accessToken: 'a', expiresAt }, NOW);
  expect([ending(NOW + 300_001), ending(NOW + 300_000), isFresh({ accessToken: 'a' }, NOW)]).toEqual([
    true,
    false,
    false,
  ]);
});

test('a person is known by the id token, where there is one', () => {
  const idToken = (claims: object) => `h.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.s`;
  const subject = (claims: object) => tryParseOauthFile({ id_token: idToken(claims) }, NOW)?.subject;
  expect([subject({ sub: '1', email: 'e' }), subject({ email: 'e' }), subject({})]).toEqual(['1', 'e', undefined]);
});
