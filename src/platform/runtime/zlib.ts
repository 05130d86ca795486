import { crc32 as computeCrc32, deflateSync } from 'node:zlib';

/** The bytes in zlib's format, without compressing them: the same with every version of zlib. */
export function storeZlib(bytes: Uint8Array): Buffer {
  return deflateSync(bytes, { level: 0 });
}

export const crc32: (bytes: Uint8Array) => number = computeCrc32;
