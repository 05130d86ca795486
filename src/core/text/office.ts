import { extname } from 'node:path';

const OOXML = 'application/vnd.openxmlformats-officedocument.';
const ODF = 'application/vnd.oasis.opendocument.';

const ZIP_TYPES: Readonly<Record<string, string>> = {
  '.docx': `${OOXML}wordprocessingml.document`,
  '.dotx': `${OOXML}wordprocessingml.template`,
  '.pptx': `${OOXML}presentationml.presentation`,
  '.xlsx': `${OOXML}spreadsheetml.sheet`,
  '.odt': `${ODF}text`,
  '.odp': `${ODF}presentation`,
  '.ods': `${ODF}spreadsheet`,
};

const OLE_TYPES: Readonly<Record<string, string>> = {
  '.doc': 'application/msword',
  '.ppt': 'application/vnd.ms-powerpoint',
  '.xls': 'application/vnd.ms-excel',
};

const BY_ENDING: Readonly<Record<string, string>> = { ...ZIP_TYPES, ...OLE_TYPES };
const TYPES: ReadonlySet<string> = new Set(Object.values(BY_ENDING));

/** The entry that only this kind of document has. */
const MAIN_ENTRIES: readonly (readonly [entry: string, ending: string])[] = [
  ['word/document.xml', '.docx'],
  ['ppt/presentation.xml', '.pptx'],
  ['xl/workbook.xml', '.xlsx'],
];

/** From the content or its beginning. The name decides between formats that begin alike. Text is never one. */
export function sniffOffice(bytes: Uint8Array, name: string): string | undefined {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const ending = extname(name).toLowerCase();
  const head = buffer.toString('latin1', 0, 256);
  if (head.startsWith('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1')) return OLE_TYPES[ending];
  // The high byte of a version number, which no text has.
  if (!head.startsWith('PK\x03\x04') || head[5] !== '\0') return undefined;
  const declared = readTypeEntry(buffer, head);
  if (declared !== undefined) return TYPES.has(declared) ? declared : undefined;
  return ending === '' ? sniffEntries(buffer) : ZIP_TYPES[ending];
}

/** The first entry of an OpenDocument file, which has its media type. https://docs.oasis-open.org/office/OpenDocument/v1.3/ */
function readTypeEntry(buffer: Buffer, head: string): string | undefined {
  if (!head.startsWith('mimetype', 30) || buffer.readUInt16LE(26) !== 8) return undefined;
  const start = 38 + buffer.readUInt16LE(28);
  return head.slice(start, start + buffer.readUInt32LE(22));
}

/** The names of entries are not compressed. */
function sniffEntries(buffer: Buffer): string | undefined {
  if (!buffer.includes('[Content_Types].xml')) return undefined;
  const [, ending = ''] = MAIN_ENTRIES.find(([entry]) => buffer.includes(entry)) ?? [];
  return ZIP_TYPES[ending];
}

export function findOfficeType(name: string): string | undefined {
  return BY_ENDING[extname(name).toLowerCase()];
}

export function isOfficeType(mimeType: string): boolean {
  return TYPES.has(mimeType);
}
