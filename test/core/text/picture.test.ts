import fc from 'fast-check';
import { expect, test } from 'vitest';
import { describeMedia, measurePicture } from '../../../src/core/text/picture.ts';

const bytes = (...pieces: readonly (string | readonly number[])[]): Buffer =>
  Buffer.concat(pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece, 'latin1') : Buffer.from(piece))));

const PNG = bytes('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', [0, 0, 2, 128], [0, 0, 1, 224], [8, 6, 0, 0, 0]);
const JPEG = bytes(
  [0xff, 0xd8, 0xff, 0xe0, 0, 16],
  'JFIF\0'.padEnd(14, '\0'),
  [0xff, 0xff, 0xc4, 0, 3, 0],
  [0xff, 0xc2, 0, 17, 8, 1, 224, 2, 128, 3],
);

test.each([
  ['PNG', PNG],
  ['GIF', bytes('GIF89a', [128, 2, 224, 1, 0])],
  ['a JPEG with other segments before its size', JPEG],
  ['WebP, extended', bytes('RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0', [0, 0, 0, 0], [127, 2, 0], [223, 1, 0])],
  ['WebP, lossy', bytes('RIFF\0\0\0\0WEBPVP8 \0\0\0\0', [0, 0, 0, 0x9d, 1, 0x2a], [128, 2, 224, 1])],
  ['WebP, lossless', bytes('RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f', [0x7f, 0xc2, 0x77, 0])],
])('the size of %s', (_, picture) => {
  expect(measurePicture(picture)).toEqual({ width: 640, height: 480 });
});

test('a picture is named by its format and size, other media by their type', () => {
  expect(describeMedia('image/png', PNG)).toBe('PNG, 640x480');
  expect(describeMedia('image/heic', bytes('x'))).toBe('HEIC');
  expect(describeMedia('application/pdf', bytes('%PDF'))).toBe('application/pdf');
});

test('bytes that are cut off or changed anywhere have a size or none, and nothing fails', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(PNG, JPEG, bytes('RIFF\0\0\0\0WEBPVP8X'), bytes('GIF89a')),
      fc.nat({ max: 40 }),
      fc.nat({ max: 40 }),
      fc.nat({ max: 255 }),
      (picture, length, at, value) => {
        const changed = Buffer.from(picture.subarray(0, length));
        if (at < changed.length) changed[at] = value;
        const size = measurePicture(changed);
        expect(size === undefined || (size.width >= 0 && size.height >= 0)).toBe(true);
      },
    ),
  );
});
