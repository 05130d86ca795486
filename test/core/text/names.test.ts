import { expect, test } from 'vitest';
import { findNearestNames, mayHoldCredential, measureEditDistance } from '../../../src/core/text/names.ts';

test.each([
  ['mcp', 'mpc', 1],
  ['mcp', 'mcp', 0],
  ['', 'abc', 3],
  ['kitten', 'sitting', 3],
])('%s and %s are %d apart', (a, b, distance) => {
  expect(measureEditDistance(a, b)).toBe(distance);
});

test('the nearest names come first, and unlike names are omitted', () => {
  expect(findNearestNames('gemini-2.5-falsh', ['gemini-2.5-flash-lite', 'gemini-2.5-flash', 'zzz'])).toEqual([
    'gemini-2.5-flash',
    'gemini-2.5-flash-lite',
  ]);
  expect(findNearestNames('ab', ['abc', 'abd', 'abc'])).toEqual(['abc', 'abd']);
  expect(findNearestNames('ABC', ['abc', 'abd', 'abe', 'abf', 'xyz'])).toEqual(['abc', 'abd', 'abe']);
});

test('a word as long as a picture in base64 is looked at like any other', () => {
  const long = 'A'.repeat(30_000_000);
  expect(mayHoldCredential(long)).toBe(false);
  expect(mayHoldCredential(`${long} s3cretS3cret`)).toBe(true);
});
