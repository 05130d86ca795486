/** The middle one; NaN of none. */
export function median(list) {
  const sorted = [...list].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** The value that so many of all, from 0 to 1, do not exceed; NaN of none. */
export function percentile(list, share) {
  const sorted = [...list].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/** The same items in an order that `next`, a source of numbers, decides. */
export function shuffled(list, next) {
  return list
    .map((item) => [next(), item])
    .sort(([a], [b]) => a - b)
    .map(([, item]) => item);
}

/** A source of numbers between 0 and 1 that are the same for the same start. */
export function mulberry(start) {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A table on stdout, numbers with two digits. */
export function printTable(rows) {
  const shown = (value) => (typeof value === 'number' ? Number(value.toFixed(2)) : value);
  console.table(rows.map((row) => Object.fromEntries(Object.entries(row).map(([key, value]) => [key, shown(value)]))));
}
