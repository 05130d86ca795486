import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatIsoTime } from '../../src/session/record.ts';

test('any time is written as the language itself would write it', () => {
  const date = fc.date({ noInvalidDate: true });
  fc.assert(fc.property(date, (any) => formatIsoTime(any.getTime()) === any.toISOString()));
  for (const edge of ['0999-12-31T23:59:59.999Z', '1000-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z']) {
    expect(formatIsoTime(Date.parse(edge))).toBe(edge);
  }
});

test('what is no time is an error', () => {
  expect(() => formatIsoTime(Number.NaN)).toThrow(RangeError);
});
