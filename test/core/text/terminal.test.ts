import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  countInvisible,
  countSpareRows,
  RESTORE_CURSOR,
  SAVE_CURSOR,
  sanitize,
} from '../../../src/core/text/terminal.ts';
import { onTerminal } from '../../render/terminal-machine.ts';

test('invisible characters are escaped', () => {
  expect(sanitize('a\u001b[31m\n\r\t\u0007\u009b\u202e\u200b\u200d\ufeff\u{e0041}\ud800b')).toBe(
    'a\\x1b[31m\\n\\r\\t\\x07\\x9b\\u202e\\u200b\\u200d\\ufeff\\u{e0041}\\ud800b',
  );
});

test('fillers, joiners and variation selectors are escaped', () => {
  expect(sanitize('\u3164\u115f\u034f\ufe0f\u{e0100}')).toBe('\\u3164\\u115f\\u034f\\ufe0f\\u{e0100}');
});

test('spaces other than the plain one, and the empty Braille pattern, are escaped', () => {
  expect(sanitize('a b\u00a0c\u1680\u2003\u202f\u205f\u3000\u2800d')).toBe(
    'a b\\xa0c\\u1680\\u2003\\u202f\\u205f\\u3000\\u2800d',
  );
});

test('a third mark on one letter is escaped: it would cover the lines above', () => {
  expect(sanitize(`e\u0301\u0323 a${'\u0300'.repeat(4)}`)).toBe('e\u0301\u0323 a\u0300\u0300\\u0300\\u0300');
});

test('what only some fonts have a shape for is escaped: blank symbols, private characters and those that are none', () => {
  const text = 'a\u{1d159}\u{13441}\ufffc\ue000\u{f0000}\uffff\u{1fffe}\u0378b';
  expect(sanitize(text)).toBe('a\\u{1d159}\\u{13441}\\ufffc\\ue000\\u{f0000}\\uffff\\u{1fffe}\\u0378b');
});

test('a mark is escaped that strikes out a letter, or turns a sign into another one', () => {
  expect(sanitize('-\u20d2a =\u0338 r\u0336 \u0301b 1\u20e3')).toBe('-\\u20d2a =\\u0338 r\\u0336 \\u0301b 1\\u20e3');
});

test('visible characters stay as they are', () => {
  expect(sanitize('rm -rf "C:\\tmp" 日本語 é 😀')).toBe('rm -rf "C:\\tmp" 日本語 é 😀');
});

test('nothing remains that a terminal would obey or hide', () => {
  const text = fc.string({
    unit: fc.oneof(
      fc.nat(0x10ffff).map((code) => String.fromCodePoint(code)),
      fc.string(),
    ),
  });
  fc.assert(
    fc.property(text, (value) => {
      expect(sanitize(value)).not.toMatch(/(?! )[\p{Cc}\p{Cf}\p{Cs}\p{Z}\p{Default_Ignorable_Code_Point}]|\p{M}{3}/u);
    }),
  );
});

test('what would be escaped is counted, once for each character', () => {
  expect(['', 'plain text', '日本 é'].map(countInvisible)).toEqual([0, 0, 0]);
  expect(['\u001b', 'a\u001b[31m', '\u200ba\n\u{e0041}'].map(countInvisible)).toEqual([1, 1, 3]);
});

test('a window of fewer than twelve rows has one row to spare, any other three', () => {
  expect([1, 11, 12, 50].map(countSpareRows)).toEqual([1, 1, 3, 3]);
});

test('the cursor is saved and restored by the escapes of DEC, which every terminal knows', () => {
  const obeyed = ['\u001b7', '\u001b8'];
  expect(onTerminal(`a${SAVE_CURSOR}b${RESTORE_CURSOR}c`)).toEqual({ printed: 'abc', obeyed });
});
