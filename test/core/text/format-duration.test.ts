import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatDuration, parseEnvDuration, tryParseDuration } from '../../../src/core/text/format.ts';

test.each([
  ['0', 0],
  ['90s', 90_000],
  ['5m', 300_000],
  ['1h30m', 5_400_000],
  ['300ms', 300],
  ['1.5h', 5_400_000],
  ['.5s', 500],
  ['2m3.5s', 123_500],
])('%s is %d ms', (text, ms) => {
  expect(tryParseDuration(text)).toBe(ms);
});

test.each(['', '5', '5x', '-1s', 's', '1m 3s', '5 m', 'NaNs', '1h30'])('"%s" is no duration', (text) => {
  expect(tryParseDuration(text)).toBeUndefined();
});

test('whole units of any size add up', () => {
  const units = fc.constantFrom(['h', 3_600_000], ['m', 60_000], ['s', 1000], ['ms', 1] as const);
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(999), units), { minLength: 1 }), (pieces) => {
      const text = pieces.map(([count, [unit]]) => `${count}${unit}`).join('');
      expect(tryParseDuration(text)).toBe(pieces.reduce((sum, [count, [, size]]) => sum + count * Number(size), 0));
    }),
  );
});

test.each([
  [450, '450 ms'],
  [1500, '1.5 s'],
  [2000, '2 s'],
  [9960, '10 s'],
  [12_400, '12 s'],
  [120_000, '2 min'],
  [125_000, '2 min 5 s'],
  [22_320_000, '6 h 12 min'],
  [7_200_000, '2 h'],
])('%d ms reads as %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

test('a variable holds a duration, nothing, or a mistake', () => {
  expect(parseEnvDuration({ X: '500ms' }, 'X', 1000)).toBe(500);
  expect(parseEnvDuration({ X: '0' }, 'X', 1000)).toBe(0);
  expect(parseEnvDuration({ X: '' }, 'X', 1000)).toBe(1000);
  expect(parseEnvDuration({}, 'X', 1000)).toBe(1000);
  expect(() => parseEnvDuration({ X: '30' }, 'X', 1000)).toThrow(
    expect.objectContaining({ fault: 'config', message: 'X: "30" is not a duration', hint: 'Example: X=30s' }),
  );
});
