import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeText } from '../../../src/core/text/decode.ts';
import { fuzz } from '../../support/fuzz.ts';

const text = fc.string({ unit: 'grapheme' }).filter((value) => !value.includes('\0') && !value.startsWith('\ufeff'));

const bytesOf = {
  plain: (value: string) => Buffer.from(value),
  marked: (value: string) => Buffer.from(`\ufeff${value}`),
  utf16le: (value: string) => Buffer.from(`\ufeff${value}`, 'utf16le'),
  utf16be: (value: string) => Buffer.from(`\ufeff${value}`, 'utf16le').swap16(),
};

test.each(Object.entries(bytesOf))('text written as %s comes back as it was', (_, encode) => {
  fc.assert(
    fc.property(text, (value) => {
      expect(decodeText(encode(value))).toEqual({ isText: true, text: value });
    }),
    fuzz(100),
  );
});

test('line ends and white space are kept', () => {
  expect(decodeText(Buffer.from(' a\r\nb\r\tc \n'))).toEqual({ isText: true, text: ' a\r\nb\r\tc \n' });
});

test('a slice of a larger buffer is judged by itself', () => {
  const slice = Buffer.from('\0\xffabc\0', 'latin1').subarray(2, 5);
  expect(decodeText(slice)).toEqual({ isText: true, text: 'abc' });
});

test.each([
  ['a byte that never occurs', 'ab\xff', 2],
  ['a lone continuation', '\x80', 0],
  ['a character cut short by the end', 'abc\xe3\x81', 3],
  ['a character cut short by another', '\xe3\x81x', 0],
  ['an overlong form', 'x\xc0\xaf', 1],
  ['an overlong three byte form', 'x\xe0\x80\xaf', 1],
  ['a surrogate', '\xed\xa0\x80', 0],
  ['a point past the last', '\xc3\xa9\xf4\x90\x80\x80', 2],
])('%s is refused at its offset', (_, latin1, offset) => {
  expect(decodeText(Buffer.from(latin1, 'latin1'))).toEqual({ isText: false, reason: 'utf8', offset });
});

test('a NUL is not text, in either encoding', () => {
  expect(decodeText(Buffer.from('ab\0'))).toEqual({ isText: false, reason: 'nul', offset: 2 });
  expect(decodeText(Buffer.from('\ufeffab\0', 'utf16le'))).toEqual({ isText: false, reason: 'nul', offset: 6 });
});

test('UTF-16 with half a character is rejected at its offset', () => {
  expect(decodeText(Buffer.from('\ufeffab\ud800c', 'utf16le'))).toEqual({ isText: false, reason: 'utf16', offset: 6 });
  expect(decodeText(Buffer.from([0xff, 0xfe, 0x61, 0, 0x62]))).toEqual({ isText: false, reason: 'utf16', offset: 4 });
  expect(decodeText(Buffer.from([0xfe, 0xff, 0, 0x61, 0]))).toEqual({ isText: false, reason: 'utf16', offset: 4 });
});

test('the offset is where the longest valid beginning ends', () => {
  fc.assert(
    fc.property(fc.uint8Array({ min: 1, maxLength: 40 }), (bytes) => {
      const decoded = decodeText(bytes);
      if (decoded.isText || decoded.reason !== 'utf8') return;
      expect(decodeText(bytes.subarray(0, decoded.offset)).isText).toBe(true);
      // The letter in front keeps the rest from being read as a byte order mark.
      const isWhole = (end: number) => decodeText(Buffer.from([97, ...bytes.subarray(decoded.offset, end)])).isText;
      expect(
        [1, 2, 3, 4].some((length) => decoded.offset + length <= bytes.length && isWhole(decoded.offset + length)),
      ).toBe(false);
    }),
    fuzz(1000),
  );
});
