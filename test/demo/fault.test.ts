import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AppError } from '../../src/core/error.ts';
import { createFaultBook, formatFaults, parseFaults } from '../../src/demo/fault.ts';

test.each([
  ['429', [{ name: '429', times: Infinity }]],
  ['429,retry-after=1', [{ name: '429', times: Infinity, retryAfterSeconds: 1 }]],
  ['429x2,retry-after=0.5', [{ name: '429', times: 2, retryAfterSeconds: 0.5 }]],
  ['503,retry-after=3x1', [{ name: '503', times: 1, retryAfterSeconds: 3 }]],
  ['503x1', [{ name: '503', times: 1 }]],
  ['slow=1.5s', [{ name: 'slow', times: Infinity, amount: 1500 }]],
  ['slow=5sx2', [{ name: 'slow', times: 2, amount: 5000 }]],
  ['cut-after=2', [{ name: 'cut-after', times: Infinity, amount: 2 }]],
  ['cut-afterx1=0', [{ name: 'cut-after', times: 1, amount: 0 }]],
  ['redirect=http://127.0.0.1:1/x1', [{ name: 'redirect', times: Infinity, text: 'http://127.0.0.1:1/x1' }]],
  ['404-retired', [{ name: '404-retired', times: Infinity }]],
  ['404-retired=gemini-', [{ name: '404-retired', times: Infinity, text: 'gemini-' }]],
  [
    '503x1, UNSUPPORTED_CLIENT',
    [
      { name: '503', times: 1 },
      { name: 'UNSUPPORTED_CLIENT', times: Infinity },
    ],
  ],
])('%s is read', (spec, expected) => {
  expect(parseFaults([spec])).toEqual(expected);
});

test('repeating the flag is the same as a comma', () => {
  expect(parseFaults(['503x1', '429', 'retry-after=2'])).toEqual(parseFaults(['503x1,429,retry-after=2']));
});

test('an unknown fault is a usage error that lists the known ones', () => {
  const error = thrownBy(() => parseFaults(['teapot']));
  expect(error.fault).toBe('usage');
  expect(error.message).toBe('unknown fault "teapot"');
  expect(error.hint).toBe(`These are known:\n${formatFaults()}`);
});

test.each(['slow', 'slow=soon', 'cut-after', 'cut-after=-1', 'redirect', 'redirect=nowhere', '503=1', ''])(
  '"%s" is a usage error',
  (spec) => {
    expect(thrownBy(() => parseFaults([spec])).fault).toBe('usage');
  },
);

test.each(['retry-after=1', '500,retry-after=1', '429,retry-after=soon'])('"%s" has no fault to wait for', (spec) => {
  expect(thrownBy(() => parseFaults([spec])).message).toMatch(/^fault "retry-after=.*" does not fit$/);
});

test('any text is either read or refused with a usage error', () => {
  fc.assert(
    fc.property(fc.array(fc.string()), (specs) => {
      try {
        for (const { times } of parseFaults(specs)) expect(times).toBeGreaterThanOrEqual(0);
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(AppError);
        expect((thrown as AppError).fault).toBe('usage');
      }
    }),
  );
});

test('a limited fault applies that often, then the next one', () => {
  const book = createFaultBook(parseFaults(['503x2,429']));
  const names = Array.from({ length: 4 }, () => book.take(['503', '429'])?.name);
  expect(names).toEqual(['503', '503', '429', '429']);
});

test('a fault that does not fit is not used up', () => {
  const book = createFaultBook(parseFaults(['404-retiredx1']));
  expect(book.take(['404-retired'], () => false)).toBeUndefined();
  expect(book.take(['404-retired'])?.name).toBe('404-retired');
  expect(book.take(['404-retired'])).toBeUndefined();
});

function thrownBy(action: () => unknown): AppError {
  try {
    action();
  } catch (thrown) {
    if (thrown instanceof AppError) return thrown;
  }
  throw new Error('no AppError was thrown');
}
