/** Splits the values of a flag that may be repeated or hold a comma-separated list. */
export function splitList(values: readonly string[]): readonly string[] {
  return values
    .flatMap((value) => value.split(','))
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

export function measureEditDistance(left: string, right: string): number {
  let older: readonly number[] = [];
  let above: readonly number[] = Array.from({ length: right.length + 1 }, (_, index) => index);
  const at = (row: readonly number[], index: number): number => row[index] ?? Number.POSITIVE_INFINITY;
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const replaced = at(above, column - 1) + (left[row - 1] === right[column - 1] ? 0 : 1);
      const isSwap = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      const swapped = isSwap ? at(older, column - 2) + 1 : Number.POSITIVE_INFINITY;
      current.push(Math.min(replaced, swapped, at(above, column) + 1, at(current, column - 1) + 1));
    }
    older = above;
    above = current;
  }
  return above[right.length] ?? 0;
}

/** In pairs of characters: about 20 ms. Candidates after that are not compared. */
const MAX_PAIRS = 1_000_000;

export function findNearestNames(name: string, candidates: readonly string[]): readonly string[] {
  const wanted = name.toLowerCase();
  const limit = Math.max(2, Math.ceil(wanted.length / 3));
  let pairs = 0;
  const isComparable = ({ length }: string): boolean => {
    if (Math.abs(length - wanted.length) > limit) return false;
    pairs += length * wanted.length;
    return pairs <= MAX_PAIRS;
  };
  return [...new Set(candidates)]
    .filter(isComparable)
    .map((candidate) => ({ candidate, distance: measureEditDistance(wanted, candidate.toLowerCase()) }))
    .filter(({ distance }) => distance <= limit)
    .sort((left, right) => left.distance - right.distance)
    .slice(0, 3)
    .map(({ candidate }) => candidate);
}

/** Only lower case, so that a UUID is also a safe and unique file name. */
export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
}

/** The words that mean the newest session, wherever one is named. */
export function isNewestWord(text: string): boolean {
  return /^(?:last|latest)$/i.test(text.trim());
}

/** A long word with a digit, or a longer one with letters of both cases; plain or in base64. Linear time. */
export function mayHoldCredential(text: string): boolean {
  // Cut at a length no credential has: a match as long as a picture in base64 would overflow the stack.
  for (const [word] of text.matchAll(/[!-~]{10,4096}/g)) {
    if (/\d/.test(word) || (word.length >= 12 && /[a-z]/.test(word) && /[A-Z]/.test(word))) return true;
  }
  return false;
}

export function shortenId(id: string): string {
  return isUuid(id.toLowerCase()) ? id.slice(0, 8) : id;
}

/** Compiled on use, since few runs need it. */
const EMOJI = '(\\p{RGI_Emoji})';

/** Every second piece is an emoji. Its invisible joiners belong to it and need no escaping. */
export function splitEmoji(text: string): readonly string[] {
  return text.split(new RegExp(EMOJI, 'v'));
}
