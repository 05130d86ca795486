import { closeSync, openSync, readSync } from 'node:fs';

/** An id that nobody else has: a random UUID. Reads the system's own source where there is one: the crypto module costs a start. */
export function randomId(): string {
  const bytes = Buffer.allocUnsafe(16);
  try {
    const source = openSync('/dev/urandom', 'r');
    try {
      if (readSync(source, bytes, 0, 16, null) < 16) return otherId();
    } finally {
      closeSync(source);
    }
  } catch {
    return otherId();
  }
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

function otherId(): string {
  return process.getBuiltinModule('node:crypto').randomUUID();
}

/** A secret of 256 bits that can stand in a header. */
export function randomToken(): string {
  return process.getBuiltinModule('node:crypto').randomBytes(32).toString('base64url');
}
