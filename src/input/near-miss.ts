/** The candidate most like `name`, if one is close enough to be what was meant; case does not count. */
export function nearMiss(name: string, candidates: readonly string[]): string | undefined {
  const wanted = name.toLowerCase();
  const allowed = Math.max(1, Math.min(3, Math.floor(wanted.length / 3)));
  let best: string | undefined;
  let bestDistance = allowed + 1;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - name.length) >= bestDistance) continue;
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** Insertions, deletions, substitutions; a swap of neighbours counts one. */
function editDistance(left: string, right: string): number {
  let older: number[] = [];
  let above = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const cost = left[row - 1] === right[column - 1] ? 0 : 1;
      const at = (line: readonly number[], index: number): number => line[index] ?? Number.POSITIVE_INFINITY;
      const isSwap = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      current[column] = Math.min(
        at(above, column) + 1,
        at(current, column - 1) + 1,
        at(above, column - 1) + cost,
        isSwap ? at(older, column - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    older = above;
    above = current;
  }
  return above[right.length] ?? 0;
}
