export type Decoded =
  | { readonly isText: true; readonly text: string }
  | { readonly isText: false; readonly reason: 'nul' | 'utf8' | 'utf16'; readonly offset: number };

/** Strict UTF-8, or UTF-16 with a byte order mark, which is dropped. Bytes with a NUL are no text. Never throws. */
export function decodeText(bytes: Uint8Array): Decoded {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (buffer[0] === 0xff && buffer[1] === 0xfe) return decodeUtf16(buffer);
  if (buffer[0] === 0xfe && buffer[1] === 0xff) return decodeUtf16(swapPairs(buffer));
  const nul = buffer.indexOf(0);
  if (nul !== -1) return { isText: false, reason: 'nul', offset: nul };
  try {
    return { isText: true, text: new TextDecoder('utf-8', { fatal: true }).decode(buffer) };
  } catch {
    return { isText: false, reason: 'utf8', offset: findInvalidByte(buffer) };
  }
}

function swapPairs(buffer: Buffer): Buffer {
  const copy = Buffer.from(buffer);
  copy.subarray(0, copy.length - (copy.length % 2)).swap16();
  return copy;
}

function decodeUtf16(buffer: Buffer): Decoded {
  if (buffer.length % 2 !== 0) return { isText: false, reason: 'utf16', offset: buffer.length - 1 };
  const text = buffer.toString('utf16le', 2);
  const nul = text.indexOf('\0');
  if (nul !== -1) return { isText: false, reason: 'nul', offset: 2 + 2 * nul };
  if (text.isWellFormed()) return { isText: true, text };
  // With the u flag this matches only unpaired surrogates.
  return { isText: false, reason: 'utf16', offset: 2 + 2 * text.search(/\p{Surrogate}/u) };
}

function findInvalidByte(buffer: Buffer): number {
  let offset = 0;
  while (offset < buffer.length) {
    const length = utf8LengthAt(buffer, offset);
    if (length === 0) return offset;
    offset += length;
  }
  return offset;
}

/** The length of the UTF-8 character at `offset` in bytes, 0 if it is invalid: table 3-7 of the Unicode standard. */
function utf8LengthAt(buffer: Buffer, offset: number): number {
  const lead = buffer[offset] ?? 0;
  if (lead < 0x80) return 1;
  const length = lead < 0xc2 || lead > 0xf4 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  const lowest = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
  const highest = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
  const second = buffer[offset + 1] ?? 0;
  if (second < lowest || second > highest) return 0;
  for (let index = 2; index < length; index += 1) if (((buffer[offset + index] ?? 0) & 0xc0) !== 0x80) return 0;
  return length;
}

export function sniffEncoding(head: Uint8Array): 'utf8' | 'utf16le' | 'utf16be' | undefined {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf16le';
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf16be';
  return head.subarray(0, 8192).includes(0) ? undefined : 'utf8';
}
