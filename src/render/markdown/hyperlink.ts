import { type Paint, plain } from './theme.ts';

const SCHEMES = /^(?:https?|ftp|mailto):/i;
const MAX_LENGTH = 2000;

/** Makes text a link a terminal can open (OSC 8); an address that `linkTarget` refuses gives no link. */
export function hyperlink(address: string): Paint {
  const target = linkTarget(address);
  if (target === undefined) return plain;
  return (text) => `\u001b]8;;${target}\u001b\\${text}\u001b]8;;\u001b\\`;
}

/**
 * The address percent-encoded to printable ASCII, so that it cannot end what it is written into; undefined if it is of an
 * unknown scheme, or too long.
 */
export function linkTarget(address: string, schemes = SCHEMES): string | undefined {
  if (!schemes.test(address)) return undefined;
  const target = address.replace(/[^\x21-\x7e]/gu, percentEncoded);
  return target.length > MAX_LENGTH ? undefined : target;
}

function percentEncoded(char: string): string {
  return Array.from(Buffer.from(char, 'utf8'), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(
    '',
  );
}
