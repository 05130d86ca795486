import fc from 'fast-check';
import { expect, test } from 'vitest';
import { redactIn, redactKnown } from '../../../src/core/text/secrets.ts';

const SECRET = 'A/b+c="d"&e~f\\g#42';

test.for([
  ['as it is', SECRET],
  ['URL-encoded', encodeURIComponent(SECRET)],
  ['URL-encoded in small letters', encodeURIComponent(SECRET).toLowerCase()],
  ['URL-encoded with small digits', encodeURIComponent(SECRET).replace(/%../g, (code) => code.toLowerCase())],
  ['in JSON', JSON.stringify(SECRET).slice(1, -1)],
  ['in JSON that is safe for HTML', 'A/b+c\\u003d\\"d\\"\\u0026e~f\\\\g#42'],
  ['in JSON in JSON', JSON.stringify(JSON.stringify(SECRET)).slice(3, -3)],
  ['in base64', Buffer.from(SECRET).toString('base64')],
  ['in base64url', Buffer.from(SECRET).toString('base64url')],
] as const)('a secret is concealed %s', ([, form]) => {
  expect(redactKnown(`x ${form} y`, [SECRET])).toBe('x ‹redacted› y');
});

test.for(['', 'u', 'me', 'me:', 'user:'])('base64 of the secret after %j gives none of it away', (before) => {
  const encoded = Buffer.from(`${before}${SECRET}!`).toString('base64');
  const shown = redactKnown(encoded, [SECRET]);
  expect(shown).toContain('‹redacted›');
  expect(Buffer.from(shown.replace('‹redacted›', ''), 'base64').length).toBeLessThanOrEqual(before.length + 4);
});

test('base64 of either alphabet in the middle of other bytes gives none of it away', () => {
  // Every other byte of it is + or / in base64, - or _ for a URL.
  const secret = '>>>???>>>???>>>';
  for (const before of ['', 'u', 'me']) {
    for (const alphabet of ['base64', 'base64url'] as const) {
      const encoded = Buffer.from(`${before}${secret}end`).toString(alphabet);
      expect(redactKnown(encoded, [secret])).toMatch(/^[\w+/-]{0,3}‹redacted›[\w+/-]{0,6}={0,2}$/);
    }
  }
});

test('a short secret is not looked for in its longer forms either, nor a short form of a long one', () => {
  expect(redactKnown('a%2Fb%2Fc%2Fd%2F', ['a/b/c/d'])).toBe('a%2Fb%2Fc%2Fd%2F');
  expect(redactKnown('x YWFhYWFhYQ y', ['aaaaaaa'])).toBe('x YWFhYWFhYQ y');
});

test('the longer of two secrets goes first, and a mark holds no secret', () => {
  expect(redactKnown('secret-one-two secret-one', ['secret-one', 'secret-one-two'])).toBe('‹redacted› ‹redacted›');
});

test.for(['', 'k', 'demo', '1234567'])(
  '%j is too short to be a secret, and would be found in any sentence',
  (secret) => {
    expect(redactKnown(`a ${secret}-project 1234567`, [secret])).toBe(`a ${secret}-project 1234567`);
  },
);

test('whatever is around it, the secret is gone', () => {
  const text = fc.string();
  const secret = fc.string({ unit: 'grapheme-ascii', minLength: 8 }).filter((value) => !'‹redacted›'.includes(value));
  fc.assert(
    fc.property(text, secret, text, (before, hidden, after) => {
      expect(redactKnown(`${before}${hidden}${after}`, [hidden])).toContain('‹redacted›');
    }),
  );
});

const LINE = 'a line of text, as long as those of most files are\n';

test.for([
  ['many results', () => Array.from({ length: 200 }, () => ({ output: LINE.repeat(500) }))],
  ['one long text', () => [LINE.repeat(100_000)]],
  ['many short texts', () => Array.from({ length: 10_000 }, (_, index) => `${index} ${LINE}`)],
  ['an attachment', () => [{ inlineData: { mimeType: 'audio/wav', data: 'AAAA'.repeat(2_000_000) } }]],
] as const)('%s are searched in slices, and the secret is found in the last one', async ([, create]) => {
  const long = create();
  let pauses = 0;
  const redact = <Value>(value: Value): Promise<Value> => {
    pauses = 0;
    return redactIn(value, new Set([SECRET, `${SECRET}-2`]), async () => {
      pauses += 1;
    });
  };
  expect(await redact(long)).toBe(long);
  expect(pauses).toBeGreaterThan(1);
  const inlineData = { mimeType: 'text/plain', data: Buffer.from(`my ${SECRET}`).toString('base64') };
  const data = Buffer.from('my ‹redacted›').toString('base64');
  expect((await redact([...long, { [SECRET]: `my ${SECRET}` }, { inlineData }])).slice(-2)).toEqual([
    { '‹redacted›': 'my ‹redacted›' },
    { inlineData: { ...inlineData, data } },
  ]);
  await redact([LINE]);
  expect(pauses).toBe(0);
});

test('a text too short for any secret is not searched', async () => {
  const pause = async () => expect.unreachable();
  await redactIn(
    Array.from({ length: 20_000 }, (_, index) => `${index}`),
    new Set([SECRET]),
    pause,
  );
});

const redactNow = <Value>(value: Value): Promise<Value> => redactIn(value, new Set([SECRET]), async () => {});

test('what stands beside a secret stays, of whatever type it is', async () => {
  const nothing = { nothing: null, absent: undefined };
  const mixed = { first: 'plain', secret: `my ${SECRET}`, ...nothing, count: 7, isTrue: true, list: [null, 'x'] };
  expect(await redactNow(mixed)).toEqual({ ...mixed, secret: 'my ‹redacted›' });
  const plain = { ...mixed, secret: 'none' };
  expect(await redactNow(plain)).toBe(plain);
});

test('only the data of an attachment are taken for base64', async () => {
  expect(await redactNow({ other: { data: `my ${SECRET}` } })).toEqual({ other: { data: 'my ‹redacted›' } });
  expect(await redactNow({ inlineData: null, other: SECRET })).toEqual({ inlineData: null, other: '‹redacted›' });
  // Without its padding it would be another text if it were encoded again.
  const unpadded = { inlineData: { mimeType: 'text/plain', data: 'aGk' } };
  expect(await redactNow(unpadded)).toBe(unpadded);
});
