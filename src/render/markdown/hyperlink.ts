import { type Paint, plain } from './theme.ts';

const SCHEMES = /^(?:https?|ftp|mailto):/i;
const MAX_LENGTH = 2000;

/**
 * Makes text a link a terminal can open (OSC 8). The address is percent-encoded to printable ASCII, so that it cannot
 * end the sequence; one of an unknown scheme, or too long, gives no link.
 */
export function hyperlink(address: string): Paint {
  if (!SCHEMES.test(address)) return plain;
  const target = address.replace(/[^\x21-\x7e]/gu, percentEncoded);
  if (target.length > MAX_LENGTH) return plain;
  return (text) => `\u001b]8;;${target}\u001b\\${text}\u001b]8;;\u001b\\`;
}

function percentEncoded(char: string): string {
  return Array.from(Buffer.from(char, 'utf8'), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(
    '',
  );
}
