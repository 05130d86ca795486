/** Insertions, deletions, replacements and swaps of neighbours that turn one word into the other. */
export function editDistance(left: string, right: string): number {
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

/** The candidates most like `name`, likest first, at most three; those that are nothing like it are left out. */
export function nearestNames(name: string, candidates: readonly string[]): readonly string[] {
  const wanted = name.toLowerCase();
  const limit = Math.max(2, Math.ceil(wanted.length / 3));
  return candidates
    .map((candidate) => ({ candidate, distance: editDistance(wanted, candidate.toLowerCase()) }))
    .filter(({ distance }) => distance <= limit)
    .sort((left, right) => left.distance - right.distance)
    .slice(0, 3)
    .map(({ candidate }) => candidate);
}

/** Whether a text is a UUID, in small letters; then it can be part of a path. */
export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
}

/** As much of a session's id as people need: the beginning of a UUID; all of one that somebody gave. */
export function shortId(id: string): string {
  return isUuid(id.toLowerCase()) ? id.slice(0, 8) : id;
}

/** Made to a regular expression where it is used, not at load: few starts need it. */
const EMOJI = '(\\p{RGI_Emoji})';

/** A text in pieces: every second one is an emoji, whose invisible characters join what is seen; the others may be empty. */
export function emojiApart(text: string): readonly string[] {
  return text.split(new RegExp(EMOJI, 'v'));
}
