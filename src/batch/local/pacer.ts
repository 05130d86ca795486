import type { Clock } from '../../core/io.ts';

const MINUTE_MS = 60_000;
/** The share of a learned quota that is used, since the server's window may begin at another moment. */
const SHARE = 0.97;
/** How much may be sent at once after a pause, as a time at the full rate. */
const BURST_MS = 1000;

/** Uses a quota per minute evenly. `perMinute`: the user's limit, which is used fully. */
export function createPacer(clock: Clock, perMinute: number | undefined) {
  let quota = perMinute === undefined ? undefined : { perMinute, share: 1, most: 1 };
  /** When all that was taken so far fits the rate. */
  let paidUntil = Number.NEGATIVE_INFINITY;
  let learnedAt = Number.NEGATIVE_INFINITY;
  const sent = createMinuteCounter(clock);
  // No request weighs more than a minute's quota, or the server would have refused it: a wrong count delays one minute at most.
  const toMs = (amount: number): number =>
    quota === undefined
      ? 0
      : Math.max(-MINUTE_MS, Math.min(MINUTE_MS, (amount * MINUTE_MS) / (quota.perMinute * quota.share)));
  return {
    /** How long to wait before more may be sent, in whole milliseconds, as timers count; 0 without a quota. */
    waitMs: (): number =>
      quota === undefined ? 0 : Math.ceil(Math.max(0, paidUntil - clock.now() - computeBurstMs(quota.perMinute))),
    take(amount: number): void {
      sent.add(amount);
      if (quota !== undefined) paidUntil = Math.max(paidUntil, clock.now()) + toMs(amount);
    },
    /** Adds the difference once the real amount is known. */
    correct(amount: number): void {
      sent.add(amount);
      if (quota !== undefined) paidUntil += toMs(amount);
    },
    /**
     * Learns the quota from a refusal: the one the server named, else what was sent in the last minute. A refusal within a
     * known quota means that others use it, too: a smaller share is used for a while. False if nothing can be learned.
     */
    learn(limit: number | undefined): boolean {
      const now = clock.now();
      if (limit === undefined && quota === undefined) {
        const guess = sent.total();
        if (guess <= 0) return false;
        quota = { perMinute: guess, share: SHARE, most: SHARE };
      } else if (limit !== undefined && (quota === undefined || limit < quota.perMinute)) {
        quota = { perMinute: limit, share: SHARE, most: SHARE };
      } else if (quota !== undefined && now - learnedAt > MINUTE_MS) {
        quota = { ...quota, share: Math.max(0.1, quota.share * 0.9) };
      }
      learnedAt = now;
      return true;
    },
    /** Called with every success: uses more of the quota again. */
    recover(): void {
      if (quota === undefined || quota.share >= quota.most || clock.now() - learnedAt < MINUTE_MS) return;
      // About 2 % in a minute.
      quota = { ...quota, share: Math.min(quota.most, quota.share + 0.02 / quota.perMinute) };
    },
  };
}

/** Next to nothing for small quotas, of which two requests at once would be a large part. */
function computeBurstMs(perMinute: number): number {
  return Math.min(BURST_MS, (perMinute / MINUTE_MS) * BURST_MS * 10);
}

const SLOTS = 60;

/** Sums up the last minute, with a resolution of one second. */
function createMinuteCounter(clock: Clock) {
  const amounts = new Float64Array(SLOTS);
  const seconds = new Float64Array(SLOTS);
  return {
    add(amount: number): void {
      const second = Math.floor(clock.now() / 1000);
      const slot = second % SLOTS;
      if (seconds[slot] !== second) amounts[slot] = 0;
      seconds[slot] = second;
      amounts[slot] = (amounts[slot] ?? 0) + amount;
    },
    total(): number {
      const oldest = Math.floor(clock.now() / 1000) - SLOTS;
      return amounts.reduce((sum, amount, slot) => ((seconds[slot] ?? 0) > oldest ? sum + amount : sum), 0);
    },
  };
}
