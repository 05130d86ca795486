import { randomBytes, randomUUID } from 'node:crypto';

/** An id that nobody else has. */
export function randomId(): string {
  return randomUUID();
}

/** A secret of 256 bits that can stand in a header. */
export function randomToken(): string {
  return randomBytes(32).toString('base64url');
}
