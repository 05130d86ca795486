/** How many of so many each may have where there is room for `room` in all: what one does not need is for those who need more. */
export function fairShares(counts: readonly number[], room: number): readonly number[] {
  const shares = counts.map(() => 0);
  let left = Math.max(0, room);
  const smallestFirst = [...counts.entries()].sort(([, a], [, b]) => a - b);
  for (const [place, [index, count]] of smallestFirst.entries()) {
    const share = Math.min(count, Math.floor(left / (counts.length - place)));
    shares[index] = share;
    left -= share;
  }
  return shares;
}
