import { randomUUID } from 'node:crypto';

/** An id that nobody else has. */
export function randomId(): string {
  return randomUUID();
}
