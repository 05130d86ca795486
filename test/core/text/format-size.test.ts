import { expect, test } from 'vitest';
import { formatSize } from '../../../src/core/text/format.ts';

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
