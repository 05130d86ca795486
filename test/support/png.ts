import { inflateSync } from 'node:zlib';

export interface DecodedPng {
  readonly width: number;
  readonly height: number;
  /** The rows, each with its filter byte. */
  readonly rows: Buffer;
}

/** Decodes a PNG of eight-bit RGB, and throws if anything about it is wrong: a length, a checksum, a byte after its end. */
export function decodePng(bytes: Uint8Array): DecodedPng {
  const view = Buffer.from(bytes);
  if (view.toString('latin1', 0, 8) !== '\x89PNG\r\n\x1a\n') throw new Error(`not a PNG: ${view.subarray(0, 40)}`);
  const data: Buffer[] = [];
  let size = { width: 0, height: 0 };
  for (let at = 8; ; ) {
    const length = view.readUInt32BE(at);
    const type = view.toString('latin1', at + 4, at + 8);
    const body = view.subarray(at + 8, at + 8 + length);
    if (view.readUInt32BE(at + 8 + length) !== crc32(view.subarray(at + 4, at + 8 + length))) {
      throw new Error(`the checksum of ${type} is wrong`);
    }
    at += length + 12;
    if (type === 'IHDR') size = { width: body.readUInt32BE(0), height: body.readUInt32BE(4) };
    if (type === 'IDAT') data.push(body);
    if (type !== 'IEND') continue;
    if (at !== view.length) throw new Error(`${view.length - at} bytes after the end`);
    const rows = inflateSync(Buffer.concat(data));
    if (rows.length !== (size.width * 3 + 1) * size.height) throw new Error('the rows do not fit the size');
    return { ...size, rows };
  }
}

function crc32(bytes: Uint8Array): number {
  let sum = 0xffff_ffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb8_8320 : 0);
  }
  return ~sum >>> 0;
}

/** The bytes of the pictures that a terminal was sent, in either protocol. */
export function picturesIn(output: string): readonly Buffer[] {
  const found: Buffer[] = [];
  let digits = '';
  for (const match of output.matchAll(
    /\u001b_G([^;]*);([^\u001b]*)\u001b\\|\u001b\]1337;File=([^:]*):([^\u0007]*)\u0007/g,
  )) {
    const [, keys, piece = '', values, data = ''] = match;
    if (values !== undefined) {
      if (!/(?:^|;)inline=1(?:;|$)/.test(values)) throw new Error(`not shown inline: ${values}`);
      found.push(Buffer.from(data, 'base64'));
      continue;
    }
    if (piece.length > 4096) throw new Error(`a piece of ${piece.length}`);
    digits += piece;
    if (/(?:^|,)m=1(?:,|$)/.test(keys ?? '')) continue;
    found.push(Buffer.from(digits, 'base64'));
    digits = '';
  }
  return found;
}
