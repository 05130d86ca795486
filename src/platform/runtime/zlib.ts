import { brotliDecompressSync, crc32 as computeCrc32, deflateSync, unzipSync } from 'node:zlib';

/** The bytes in zlib's format, without compressing them: the same with every version of zlib. */
export function storeZlib(bytes: Uint8Array): Buffer {
  return deflateSync(bytes, { level: 0 });
}

export const crc32: (bytes: Uint8Array) => number = computeCrc32;

const MAX_BYTES = 128_000_000;

/** By the name that HTTP has for it. Undefined for what is not in that encoding, or becomes more than 128 MB. */
export function tryDecompress(bytes: Uint8Array, encoding: string): Buffer | undefined {
  const limit = { maxOutputLength: MAX_BYTES };
  try {
    if (/^(?:x-)?gzip$|^deflate$/.test(encoding)) return unzipSync(bytes, limit);
    return encoding === 'br' ? brotliDecompressSync(bytes, limit) : undefined;
  } catch {
    return undefined;
  }
}
