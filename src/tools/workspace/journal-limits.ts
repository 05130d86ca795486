/** What of a change says how long it is kept. */
export interface KeptChange {
  readonly run: string;
  /** Milliseconds since the epoch. */
  readonly time: number;
  /** The fingerprint of what was there; undefined: nothing. */
  readonly before: string | undefined;
}

export interface KeptLimits {
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
  readonly maxBytes: number;
}

const MAX_AGE_MS = 30 * 86_400_000;

/**
 * The runs whose changes are not kept any longer: those whose last change is too old, and the oldest of the others while
 * what they keep is too much. The newest run always stays, and no run goes in part: half of it taken back is no state
 * that ever was. `sizes` says how many bytes are kept under a fingerprint.
 */
export function forgotten(
  changes: readonly KeptChange[],
  sizes: ReadonlyMap<string, number>,
  { nowMs, maxBytes }: KeptLimits,
): ReadonlySet<string> {
  // A map keeps the place of a key, so a run is put in anew with each of its changes.
  const lastTimes = new Map<string, number>();
  for (const { run, time } of changes) {
    lastTimes.delete(run);
    lastTimes.set(run, time);
  }
  const newestFirst = [...lastTimes].reverse();
  const gone = new Set<string>();
  const counted = new Set<string>();
  let bytes = 0;
  for (const [index, [run, time]] of newestFirst.entries()) {
    for (const { before } of changes.filter((change) => change.run === run)) {
      if (before === undefined || counted.has(before)) continue;
      counted.add(before);
      bytes += sizes.get(before) ?? 0;
    }
    if (index > 0 && (bytes > maxBytes || nowMs - time > MAX_AGE_MS)) gone.add(run);
  }
  return gone;
}
