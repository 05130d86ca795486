import fc from 'fast-check';
import stringWidth from 'string-width';
import { expect, test } from 'vitest';
import { measureWidth, truncateEnd, truncateStart, wrapText } from '../../../src/core/text/width.ts';
import { isLong } from '../../support/fuzz.ts';

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

/** Ideographs, Hangul syllables and what has no emoji: of these, an ordinary test run takes samples. */
const isUniform = (code: number): boolean =>
  (code >= 0x3400 && code < 0xd7b0) || (code >= 0xe000 && code < 0xfe00) || (code >= 0x1_0000 && code < 0x1_f000);

const MODIFIERS = ['', '\u{1f3fb}', '\u{1f3ff}', '\ufe0f'];

test('every character, alone and as an emoji, is as wide as string-width says', () => {
  const wrong: string[] = [];
  for (let code = 0x20; code < 0x1_ff00; code += isLong || !isUniform(code) ? 1 : 61) {
    // Escapes are the only sequences of control characters that are known here.
    if (code >= 0x7f && code <= 0x9f) continue;
    const character = String.fromCodePoint(code);
    for (const modifier of /\p{Emoji}/u.test(character) ? MODIFIERS : ['']) {
      const text = character + modifier;
      if (measureWidth(text) !== stringWidth(text)) wrong.push(text);
    }
  }
  expect(wrong).toEqual([]);
});

test('emoji of several characters, marks, kana and Hangul are as wide as string-width says', () => {
  const person = fc.constantFrom('👩', '🧑🏽', '⛹️', '🏃', '👁️', '❤️', '❤', '🏳️', '🏴', '⚕');
  const joined = fc.array(person, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('\u200d'));
  const flag = fc.constantFrom('🇯🇵', '🇰🇷', '🇺🇳', '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}');
  const other = fc.constantFrom(
    '1\ufe0f\u20e3',
    '#\u20e3',
    'e\u0301',
    'ｶﾞ',
    'が',
    '한',
    'नि',
    'ก็',
    '\x1b[1;31m',
    'a',
    '日',
  );
  const link = fc.constant('\x1b]8;;https://example.com/\x1b\\link\x1b]8;;\x07');
  const text = fc.array(fc.oneof(joined, flag, other, link), { maxLength: 12 }).map((parts) => parts.join(' '));
  fc.assert(fc.property(text, (one) => measureWidth(one) === stringWidth(one)));
});

test('what string-width leaves open is as wide as terminals draw it', () => {
  expect(measureWidth('🇦🇦')).toBe(2);
  expect(measureWidth('\u1100\u1161\u11a8')).toBe(2);
  expect(measureWidth('\u1100\u1100\u1161')).toBe(4);
});

test.each([
  ['/home/app', 9, '/home/app', '/home/app'],
  ['/home/app', 5, '/hom…', '…/app'],
  ['/日本/語', 5, '/日…', '…/語'],
])('%s cut to %i columns', (text, columns, atEnd, atStart) => {
  expect([truncateEnd(text, columns), truncateStart(text, columns)]).toEqual([atEnd, atStart]);
});

test('a cut splits no character', () => {
  expect(truncateStart('/a\u{1f600}b', 3)).toBe('…b');
  expect(truncateStart('xe\u0301b', 2)).toBe('…b');
});

test('a path wider than a row is broken after its slashes if that is wanted, an address never', () => {
  const path = 'read a/long/path/to/a/file.txt: no';
  expect(wrapText(path, 20)).toBe('read\n    a/long/path/to/a/file.txt:\n    no');
  expect(wrapText(path, 20, { breaksPaths: true })).toBe('read a/long/path/to/\n    a/file.txt: no');
  const address = 'read https://a.b/long/path/to/a/page';
  expect(wrapText(address, 20, { breaksPaths: true })).toBe('read\n    https://a.b/long/path/to/a/page');
});

test.each([
  ['nothing is trusted here: gmn trust --list', 30, ['nothing is trusted here:', '    gmn trust --list']],
  [
    'Run: gmn auth status, or: gmn doctor --online',
    24,
    ['Run: gmn auth status,', '    or:', '    gmn doctor --online'],
  ],
  [
    'Try: gmn -c "one, two and three", or continue: gmn chat -c',
    20,
    ['Try:', '    gmn -c "one, two and three",', '    or continue:', '    gmn chat -c'],
  ],
])('a command in %j is not broken at %d columns', (text, columns, rows) => {
  expect(wrapText(text, columns).split('\n')).toEqual(rows);
});
