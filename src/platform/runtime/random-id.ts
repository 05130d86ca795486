import { closeSync, openSync, readSync } from 'node:fs';

const ID_BYTES = 16;
/** Enough for several ids; each byte is used once. */
const POOL_BYTES = 16 * ID_BYTES;
let pool: Buffer = Buffer.alloc(0);

/** A random UUID. Reads /dev/urandom where it exists, as loading the crypto module costs start-up time. */
export function randomId(): string {
  if (pool.length < ID_BYTES) pool = randomBytes(POOL_BYTES) ?? pool;
  if (pool.length < ID_BYTES) return process.getBuiltinModule('node:crypto').randomUUID();
  const bytes = pool.subarray(0, ID_BYTES);
  pool = pool.subarray(ID_BYTES);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

function randomBytes(count: number): Buffer | undefined {
  // On Windows this is a path like any other: C:\dev\urandom.
  if (process.platform === 'win32') return undefined;
  const bytes = Buffer.alloc(count);
  try {
    const source = openSync('/dev/urandom', 'r');
    try {
      return readSync(source, bytes, 0, count, null) === count ? bytes : undefined;
    } finally {
      closeSync(source);
    }
  } catch {
    return undefined;
  }
}

/** 256 random bits, safe in a header. */
export function randomToken(): string {
  return process.getBuiltinModule('node:crypto').randomBytes(32).toString('base64url');
}
