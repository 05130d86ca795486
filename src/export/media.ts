import type { Media } from './transcript.ts';

/** How many bytes are behind the base64. */
export function bytesOf({ data }: Media): number {
  return Math.floor((data.replace(/=+$/, '').length * 3) / 4);
}
