import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sniffOffice } from '../../../src/core/text/office.ts';
import { ole, openDocument, zip } from '../../support/office.ts';

const OOXML = 'application/vnd.openxmlformats-officedocument.';
const ODF = 'application/vnd.oasis.opendocument.';
const DOCX = `${OOXML}wordprocessingml.document`;

test.each([
  ['a.docx', zip('word/document.xml'), DOCX],
  ['A.DOTX', zip('word/document.xml'), `${OOXML}wordprocessingml.template`],
  ['a.pptx', zip('ppt/presentation.xml'), `${OOXML}presentationml.presentation`],
  ['a.xlsx', zip('xl/workbook.xml'), `${OOXML}spreadsheetml.sheet`],
  ['a.doc', ole(), 'application/msword'],
  ['a.ppt', ole(), 'application/vnd.ms-powerpoint'],
  ['a.xls', ole(), 'application/vnd.ms-excel'],
  ['a.odt', openDocument('text'), `${ODF}text`],
  ['a.odp', openDocument('presentation'), `${ODF}presentation`],
  ['a.ods', openDocument('spreadsheet'), `${ODF}spreadsheet`],
  // The entry says more than the name.
  ['stdin', openDocument('spreadsheet'), `${ODF}spreadsheet`],
  ['a.odt', openDocument('spreadsheet'), `${ODF}spreadsheet`],
  ['a.odt', zip('content.xml'), `${ODF}text`],
  // Without an ending, the entries tell.
  ['stdin', zip('[Content_Types].xml', 'word/document.xml'), DOCX],
  ['', zip('xl/workbook.xml', '[Content_Types].xml'), `${OOXML}spreadsheetml.sheet`],
  ['stdin', zip('[Content_Types].xml', 'ppt/presentation.xml'), `${OOXML}presentationml.presentation`],
])('%s is %#: %s', (name, bytes, type) => {
  expect(sniffOffice(bytes, name)).toBe(type);
});

test.each([
  ['an archive', 'a.zip', zip('[Content_Types].xml', 'word/document.xml')],
  ['a package', 'a.jar', zip('META-INF/MANIFEST.MF')],
  ['an archive on stdin', 'stdin', zip('word/document.xml')],
  ['a document with macros', 'a.docm', zip('[Content_Types].xml', 'word/document.xml')],
  ['an OpenDocument template', 'stdin', openDocument('text-template')],
  ['a template under another name', 'a.odt', openDocument('text-template')],
  ['a book', 'a.odt', openDocument('x', 'application/epub+zip')],
  ['an encrypted document', 'a.docx', ole()],
  ['an old file without an ending', 'stdin', ole()],
  ['an empty file', 'a.docx', Buffer.alloc(0)],
  ['a program', 'a.docx', Buffer.from('\x7fELF\0')],
])('%s is no Office file', (_, name, bytes) => {
  expect(sniffOffice(bytes, name)).toBeUndefined();
});

test('text is never taken for an Office file, and no bytes make it throw', () => {
  const name = fc.constantFrom('', 'stdin', 'a.docx', 'a.xls', 'a.odt');
  const beginning = fc.constantFrom('', 'PK\x03\x04', 'PK\x03\x04mimetype');
  const text = fc.string({ unit: 'grapheme' }).map((value) => value.replaceAll('\0', ''));
  fc.assert(
    fc.property(beginning, text, name, (start, rest, file) => {
      expect(sniffOffice(Buffer.from(start + rest), file)).toBeUndefined();
    }),
  );
  const whole = fc.constantFrom(ole(), zip('word/document.xml'), openDocument('text'));
  fc.assert(
    fc.property(whole, fc.nat(80), fc.uint8Array(), fc.string(), (bytes, length, rest, file) => {
      sniffOffice(Buffer.concat([bytes.subarray(0, length), rest]), file);
    }),
  );
});
