/** How a text may stand inside another one: what to look for, and how to read it. */
export const ENCODINGS: readonly (readonly [pattern: RegExp, decode: (found: string) => string])[] = [
  // In lines, as of mail and keys.
  [/(?:[\w+/-]{60,76}\r?\n){1,1000}[\w+/-]{1,76}={0,2}/g, (found) => decodeBytes(found, 'base64')],
  [/[\w+/-]{12,}={0,2}/g, (found) => decodeBytes(found, 'base64')],
  [/(?:[\da-f]{2}){8,}/gi, (found) => decodeBytes(found, 'hex')],
  [/(?:[\da-f]{2}[ :-]){7,}[\da-f]{2}/gi, (found) => decodeBytes(found.replace(/[ :-]/g, ''), 'hex')],
  [/\S+/g, decodeEscapes],
  [
    /[^\n]{1,4000}/g,
    (found) =>
      decodeEntities(found)
        .normalize('NFKC')
        .replace(/\p{Default_Ignorable_Code_Point}/gu, ''),
  ],
];

/** As UTF-16 where every second byte of plain letters is nothing, else as UTF-8. */
export function decodeBytes(text: string, encoding: 'hex' | 'base64'): string {
  const bytes = Buffer.from(text, encoding);
  if (!bytes.includes(0)) return bytes.toString('utf8');
  const isBigEndian = bytes.reduce((sum, byte, index) => sum + (byte > 0 ? 0 : index % 2 === 0 ? 1 : -1), 0) > 0;
  const pairs = bytes.subarray(0, bytes.length - (bytes.length % 2));
  return (isBigEndian ? pairs.swap16() : pairs).toString('utf16le');
}

export function decodeEscapes(text: string): string {
  return text
    .replace(/(?:%[\da-f]{2})+/gi, (found) => decodeBytes(found.replaceAll('%', ''), 'hex'))
    .replace(/(?:\\x[\da-f]{2})+/gi, (found) => decodeBytes(found.replaceAll('\\x', ''), 'hex'))
    .replace(/\\u([\da-f]{4})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

const ENTITIES: Readonly<Record<string, string>> = { quot: '"', apos: "'", amp: '&', lt: '<', gt: '>' };

function decodeEntities(text: string): string {
  return text.replace(/&(?:#x([\da-f]{1,6})|#(\d{1,7})|(quot|apos|amp|lt|gt));/gi, (found, hex, decimal, name) => {
    const code = Number.parseInt(hex ?? decimal, hex === undefined ? 10 : 16);
    return name === undefined
      ? code <= 0x10ffff
        ? String.fromCodePoint(code)
        : found
      : (ENTITIES[name.toLowerCase()] ?? found);
  });
}
