/** An id that nobody else has. Loads the crypto module with the first call, which a run may never make. */
export function randomId(): string {
  return process.getBuiltinModule('node:crypto').randomUUID();
}

/** A secret of 256 bits that can stand in a header. */
export function randomToken(): string {
  return process.getBuiltinModule('node:crypto').randomBytes(32).toString('base64url');
}
