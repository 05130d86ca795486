import fc from 'fast-check';
import { expect, test } from 'vitest';
import { measureWidth, wrapText } from '../../../src/core/text/width.ts';

test('text that fits is not wrapped', () => {
  expect(wrapText('✓ node  20\n\n  a  b\n', 10)).toBe('✓ node  20\n\n  a  b\n');
});

test('a line that is too wide continues in the column where it was wrapped', () => {
  expect(wrapText('– official    ~/.gemini is not there: no files of it\n', 30)).toBe(
    '– official    ~/.gemini is not\n              there: no files\n              of it\n',
  );
  expect(wrapText('              → Set the key, or sign in with it', 30)).toBe(
    '              → Set the key,\n              or sign in with\n              it',
  );
  expect(wrapText('just words that are too many for it', 20)).toBe('just words that are\n    too many for it');
});

test('wide characters count as two columns, and a long word is not broken', () => {
  expect(wrapText('名前  日本語 で 書いた 長い 文', 18)).toBe('名前  日本語 で\n      書いた 長い\n      文');
  expect(wrapText(`path  ${'x'.repeat(30)} end`, 20)).toBe(`path\n      ${'x'.repeat(30)}\n      end`);
});

test('no word is lost or broken, and no row with more than one word is too wide', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', '日', '-', '/'), minLength: 1, maxLength: 30 });
  const line = fc.array(fc.tuple(word, fc.constantFrom(' ', '  ', '    ')), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(line, fc.integer({ min: 10, max: 100 }), (pieces, columns) => {
      const text = pieces
        .map(([one, gap]) => one + gap)
        .join('')
        .trimEnd();
      const rows = wrapText(text, columns).split('\n');
      expect(rows.join(' ').split(/ +/).filter(Boolean)).toEqual(text.split(/ +/));
      for (const row of rows) if (measureWidth(row) > columns) expect(row.trim()).not.toMatch(/ /);
    }),
  );
});
