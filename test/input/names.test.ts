import { expect, test } from 'vitest';
import { formatSize } from '../../src/input/limits.ts';
import { nearMiss } from '../../src/input/near-miss.ts';
import { isSecretName } from '../../src/input/secrets.ts';

test.each([
  [0, '0 B'],
  [999, '999 B'],
  [3100, '3.1 kB'],
  [999_949, '999.9 kB'],
  [999_950, '1.0 MB'],
  [20_971_520, '21.0 MB'],
  [2_000_000_000, '2.0 GB'],
])('%d bytes are %s', (bytes, text) => {
  expect(formatSize(bytes)).toBe(text);
});

test('a near miss is close, and the closest', () => {
  expect(nearMiss('mian.ts', ['main.ts', 'main.tsx', 'maine.ts'])).toBe('main.ts');
  expect(nearMiss('MAIN.TS', ['main.js', 'main.ts'])).toBe('main.ts');
  expect(nearMiss('main.ts', ['package.json', 'x'])).toBeUndefined();
  expect(nearMiss('a', ['bc'])).toBeUndefined();
});

test('keys and passwords are known by their names', () => {
  const secret = [
    '.env',
    '.ENV.local',
    'id_rsa',
    'id_rsa.bak',
    'id_work',
    'x.pem',
    'x.key',
    '.npmrc',
    '.netrc',
    'oauth_creds.json',
  ];
  const plain = ['env.ts', 'id_map.ts', 'identity', 'pem.go', 'key.ts', 'npmrc', 'README.md'];
  expect(secret.filter((name) => !isSecretName(name))).toEqual([]);
  expect(plain.filter(isSecretName)).toEqual([]);
});
