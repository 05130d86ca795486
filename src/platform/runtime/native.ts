/** The SHA-256 of a text, in hex. Loads the crypto module with the first call, which a run may never make. */
export function sha256(text: string): string {
  return process.getBuiltinModule('node:crypto').createHash('sha256').update(text, 'utf8').digest('hex');
}
