import { expect, test } from 'vitest';
import { truncateEnd, truncateStart } from '../../../src/core/text/truncate.ts';

test.each([
  ['/work/app', 9, '/work/app', '/work/app'],
  ['/work/app', 5, '/wor…', '…/app'],
  ['/日本/語', 5, '/日…', '…/語'],
])('%s in %i columns', (text, columns, atEnd, atStart) => {
  expect([truncateEnd(text, columns), truncateStart(text, columns)]).toEqual([atEnd, atStart]);
});

test('no character is cut in two', () => {
  expect(truncateStart('/a\u{1f600}b', 3)).toBe('…b');
  expect(truncateStart('xe\u0301b', 2)).toBe('…b');
});
