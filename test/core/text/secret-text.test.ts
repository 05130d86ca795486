import fc from 'fast-check';
import { expect, test } from 'vitest';
import { redact } from '../../../src/core/text/secrets.ts';

const TAIL = 'Ab3dEf6hIj9lMn2pQr5tUv8x';

test.each([
  [`ya29.${TAIL}.x-y`, '‹›'],
  [`1//0${TAIL}`, '‹›'],
  [`AIza${TAIL}`, '‹›'],
  [`AQ.${TAIL}`, '‹›'],
  [`GOCSPX-${TAIL}`, '‹›'],
  [`ghp_${TAIL}`, '‹›'],
  [`github_pat_${TAIL}`, '‹›'],
  [`sk-${TAIL}`, '‹›'],
  [`sk_live_${TAIL}`, '‹›'],
  ['AKIAIOSFODNN7EXAMPLE', '‹›'],
  [`xoxb-12345678-${TAIL}`, '‹›'],
  [`xapp-1-${TAIL}`, '‹›'],
  [`glpat-${TAIL}`, '‹›'],
  [`npm_${TAIL}${TAIL}`, '‹›'],
  [`hf_${TAIL}${TAIL}`, '‹›'],
  [`pypi-${TAIL}${TAIL}`, '‹›'],
  [`eyJ${TAIL}.${TAIL}.${TAIL}`, '‹›'],
  [`Bearer ${TAIL}==`, '‹›'],
  [`-----BEGIN RSA PRIVATE KEY-----\n${TAIL}\n${TAIL}=\n-----END RSA PRIVATE KEY-----`, '‹›'],
  ['https://a.test/?key=abc&x=1', 'https://a.test/?key=‹›&x=1'],
  ['--api-key=abc --x', '--api-key=‹› --x'],
  ["password='a b' x", 'password=‹› x'],
  ['client_secret="a b" x', 'client_secret=‹› x'],
  ['https://u:pw@a.test/x', 'https://u:‹›@a.test/x'],
  ['postgres://app:p@ss:w@db:5432/x', 'postgres://app:‹›@db:5432/x'],
  ['redis://:pw@a.test', 'redis://:‹›@a.test'],
  ["passphrase='a b' x", 'passphrase=‹› x'],
  ['{"refresh_token": "a\\"b", "x": 1}', '{"refresh_token": ‹›, "x": 1}'],
])('%s is redacted wherever it stands', (text, shown) => {
  expect(redact(text, '‹›')).toBe(shown);
  expect(redact(`before ${text} after`, '‹›')).toBe(`before ${shown} after`);
  expect(redact(`${text} ${text}`, '‹›')).toBe(`${shown} ${shown}`);
});

test.each([
  'API key not valid. Please pass a valid API key.',
  'the key: is it there?',
  '"totalTokenCount": 79',
  'https://a.test//path1/x',
  'task-force, disk-based, risk-averse-undertaking',
  'maximum tokens: 8192',
  'https://a.test:8080/x@y',
  'ssh://git@a.test/x: see b@c',
  'a://b:c',
  '$1 $& $$',
])('%s stays', (text) => {
  expect(redact(text, '$1')).toBe(text);
});

test('each of several is redacted, of the same kind and of others', () => {
  const text = `AIza${TAIL} ya29.${TAIL} AIza${TAIL}`;
  expect(redact(text, '‹›')).toBe('‹› ‹› ‹›');
  expect(redact('s3://u:pw@a x2+ssh.v-1://u:pw@b', '‹›')).toBe('s3://u:‹›@a x2+ssh.v-1://u:‹›@b');
  expect(redact('a b://u:pw@a', '‹›')).toBe('a b://u:‹›@a');
});

test('a private key that is cut short is gone with all that may belong to it', () => {
  expect(redact(`x -----BEGIN PRIVATE KEY-----\\n${TAIL}`, '‹›')).toBe('x ‹›');
});

test('the mark is inserted literally', () => {
  expect(redact('key=abc', '$& $1')).toBe('key=$& $1');
});

test('whatever surrounds a key, the key is gone', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (before, after) => {
      expect(redact(`${before} AIza${TAIL} ${after}`, '‹›')).not.toContain(TAIL);
    }),
  );
});

test.each([
  'eyJ',
  'AKIA',
  'xoxb-',
  'npm_',
  'key',
  '1//',
  'Bearer ',
  '"key',
  '-----BEGIN PRIVATE KEY-----',
  'sk-',
  'a://',
  'a://b:',
  '://:',
  'a://b:@',
])('a megabyte of %j is searched without going back and forth', (piece) => {
  expect(redact(piece.repeat(1_000_000 / piece.length), '').length).toBeLessThanOrEqual(1_000_000);
});
