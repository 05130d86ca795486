import { crc32 as computeCrc32, deflateSync } from 'node:zlib';

/** The bytes in zlib's format, without compressing them: the same with every version of zlib. */
export function storeZlib(bytes: Uint8Array): Buffer {
  return deflateSync(bytes, { level: 0 });
}

/** CRC-32, as PNG wants it. */
export function crc32(bytes: Uint8Array): number {
  return computeCrc32(bytes);
}
