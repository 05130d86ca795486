/** FNV-1a over UTF-16 units, 32 bits: stable over releases, not for secrets. */
export function hash32(text: string, seed = 0): number {
  let hash = (0x811c9dc5 ^ seed) >>> 0;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193) >>> 0;
  }
  return hash;
}

/** The same number for the same text, as eight hexadecimal digits. */
export function hashHex(text: string, seed = 0): string {
  return hash32(text, seed).toString(16).padStart(8, '0');
}
