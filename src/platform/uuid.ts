import { closeSync, openSync, readSync } from 'node:fs';

/** A random UUID (version 4). Reads the system's own source where there is one: loading the crypto module would cost a start. */
export function uuid(): string {
  const bytes = Buffer.alloc(16);
  try {
    const source = openSync('/dev/urandom', 'r');
    try {
      if (readSync(source, bytes, 0, 16, null) < 16) return otherUuid();
    } finally {
      closeSync(source);
    }
  } catch {
    return otherUuid();
  }
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

function otherUuid(): string {
  return process.getBuiltinModule('node:crypto').randomUUID();
}
