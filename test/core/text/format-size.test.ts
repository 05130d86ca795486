import { expect, test } from 'vitest';
import { formatCount, formatSize } from '../../../src/core/text/format.ts';

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

test.each([
  [0, '0'],
  [999, '999'],
  [1000, '1,000'],
  [1_048_576, '1,048,576'],
])('%d things are %s', (count, text) => {
  expect(formatCount(count)).toBe(text);
});
