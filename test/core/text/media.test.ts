import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sniffMedia } from '../../../src/core/text/media.ts';

const bytes = (latin1: string): Buffer => Buffer.from(latin1, 'latin1');
const box = (brands: string): string =>
  `\0\0\0${String.fromCharCode(8 + 4 + brands.length)}ftyp${brands.slice(0, 4)}\0\0\0\0${brands.slice(4)}`;

const SAMPLES: readonly (readonly [type: string, head: string, name?: string])[] = [
  ['image/png', '\x89PNG\r\n\x1a\n\0\0\0\rIHDR'],
  ['image/jpeg', '\xff\xd8\xff\xe0\0\x10JFIF'],
  ['image/gif', 'GIF89a\x01\0\x01\0\x80\0\0'],
  ['image/gif', 'GIF87a\x01\0\x01\0'],
  ['image/webp', 'RIFF\x24\0\0\0WEBPVP8 '],
  ['audio/wav', 'RIFF\x24\0\0\0WAVEfmt '],
  ['video/avi', 'RIFF\x24\0\0\0AVI LIST'],
  ['audio/aiff', 'FORM\0\0\0\x2eAIFFCOMM'],
  ['audio/aiff', 'FORM\0\0\0\x2eAIFCFVER'],
  ['image/heic', box('heicmif1')],
  ['image/heic', box('mif1heic')],
  ['image/heif', box('mif1miaf')],
  ['video/mp4', box('isomiso2mp41')],
  ['audio/mp4', box('M4A isom')],
  ['audio/mp4', box('isommp42'), 'voice.M4A'],
  ['video/quicktime', box('qt  ')],
  ['video/3gpp', box('3gp5isom')],
  ['audio/ogg', 'OggS\0\x02\0\0'],
  ['audio/flac', 'fLaC\0\0\0\x22'],
  ['audio/mp3', 'ID3\x04\0\0\0\0\0\x23'],
  ['audio/aac', 'ID3\x04\0\0\0\0\0\x23', 'a.aac'],
  ['audio/mp3', '\xff\xfb\x90\x64\0'],
  ['audio/mp3', '\xff\xf3\x40\xc4\0'],
  ['audio/aac', '\xff\xf1\x50\x80\x02'],
  ['audio/aac', '\xff\xf9\x50\x80\x02'],
  ['video/webm', '\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x84webm'],
  ['audio/webm', '\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x84webm', 'a.weba'],
  ['video/mpeg', '\0\0\x01\xba\x44'],
  ['video/mpeg', '\0\0\x01\xb3\x14'],
  ['video/wmv', '\x30\x26\xb2\x75\x8e\x66\xcf\x11\xa6\xd9'],
  ['video/x-flv', 'FLV\x01\x05\0\0\0\x09'],
  ['application/pdf', '%PDF-1.7\n%\xe2\xe3\xcf\xd3\n'],
  ['application/pdf', '%PDF-1.4\n1 0 obj\nendobj\nstartxref\n9\n%%EOF\n'],
];

test.each(SAMPLES.map(([type, head, name = '']) => [type, head, name] as const))('%s is %j %s', (type, head, name) => {
  expect(sniffMedia(bytes(head), name)).toBe(type);
});

test.each([
  ['nothing', ''],
  ['a program', '\x7fELF\x02\x01\x01\0'],
  ['an archive', 'PK\x03\x04\x14\0'],
  ['Matroska', '\x1a\x45\xdf\xa3\x9f\x42\x82\x88matroska'],
  ['AVIF', box('avifmif1')],
  ['AVIF under another name', box('mif1avif')],
  ['an unknown RIFF', 'RIFF\x24\0\0\0ACONanih'],
  ['UTF-16', '\xff\xfea\0b\0'],
  ['a frame with a reserved rate', '\xff\xfb\xf0\0'],
])('%s is no media', (_, head) => {
  expect(sniffMedia(bytes(head), 'a.png')).toBeUndefined();
});

test('text is never taken for media, whatever it begins with and is called', () => {
  const beginning = fc.constantFrom('', ...SAMPLES.map(([, head]) => head.replace(/[\0\x80-\xff].*$/s, '')));
  const name = fc.constantFrom('', 'a.png', 'a.pdf', 'a.mp3', 'a.m4a');
  const text = fc.string({ unit: 'grapheme' }).map((value) => value.replaceAll('\0', ''));
  fc.assert(
    fc.property(beginning, text, name, (start, rest, file) => {
      fc.pre(!rest.includes('%%EOF') && !start.includes('%%EOF'));
      expect(sniffMedia(Buffer.from(start + rest), file)).toBeUndefined();
    }),
    { numRuns: 500 },
  );
});

test('no bytes make it throw', () => {
  const head = fc.constantFrom('', ...SAMPLES.map(([, start]) => start));
  fc.assert(
    fc.property(head, fc.nat(20), fc.uint8Array(), fc.string(), (start, length, rest, name) => {
      const type = sniffMedia(Buffer.concat([bytes(start).subarray(0, length), rest]), name);
      expect(type ?? 'a/b').toMatch(/^[a-z]+\/[a-z0-9-]+$/);
    }),
    { numRuns: 500 },
  );
});
