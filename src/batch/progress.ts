import { formatCount, formatDuration } from '../core/text/format.ts';

export interface ProgressState {
  /** Rows of the output, those of earlier runs included. */
  readonly ok: number;
  readonly failed: number;
  readonly total: number | undefined;
  readonly rate: number | undefined;
  /** In US dollars; undefined if it is not known. */
  readonly cost: number | undefined;
  readonly pausedMs?: number;
  /** Rows at the service: `10,000 in 2 jobs`. */
  readonly inFlight?: string;
}

/** `312,400/1,000,000 · 99.8 % ok · 41/s · 6 h 12 min left · $31.20` */
export function formatProgress({ ok, failed, total, rate, cost, pausedMs = 0, inFlight }: ProgressState): string {
  const done = ok + failed;
  const isTotalKnown = total !== undefined && total >= done;
  const count = isTotalKnown ? `${formatCount(done)}/${formatCount(total)}` : formatRowCount(done);
  return [
    count,
    ...(done > 0 ? [`${formatShare(ok, done)} ok`] : []),
    ...(rate === undefined || inFlight !== undefined ? [] : [`${formatRate(rate)}/s`]),
    ...(inFlight === undefined ? [] : [inFlight]),
    ...(isTotalKnown && rate && inFlight === undefined
      ? [`${formatDuration(((total - done) / rate) * 1000)} left`]
      : []),
    ...(cost === undefined ? [] : [formatMoney(cost)]),
    ...(pausedMs > 1000 ? [`the quota is used up, going on in ${formatDuration(pausedMs)}`] : []),
  ].join(' · ');
}

/** Rounded down, so that only all rows are 100 %. */
function formatShare(part: number, whole: number): string {
  return `${Math.floor((1000 * part) / whole) / 10} %`;
}

function formatRate(rate: number): string {
  return rate >= 10 ? formatCount(Math.round(rate)) : rate.toFixed(1);
}

export function formatMoney(dollars: number): string {
  return dollars < 0.01 && dollars > 0 ? `$${dollars.toPrecision(2)}` : `$${dollars.toFixed(2)}`;
}

export function createRateMeter(now: () => number): { add(): void; rate(): number | undefined } {
  const SLOTS = 10;
  const SLOT_MS = 1000;
  const counts = new Array<number>(SLOTS).fill(0);
  const startedAt = now();
  let slotAt = Math.floor(startedAt / SLOT_MS);
  const advance = (): void => {
    const current = Math.floor(now() / SLOT_MS);
    for (let at = Math.max(slotAt + 1, current - SLOTS + 1); at <= current; at += 1) counts[at % SLOTS] = 0;
    slotAt = Math.max(slotAt, current);
  };
  return {
    add() {
      advance();
      counts[slotAt % SLOTS] = (counts[slotAt % SLOTS] ?? 0) + 1;
    },
    rate() {
      advance();
      const ms = Math.min(now() - startedAt, (SLOTS - 1) * SLOT_MS + (now() % SLOT_MS));
      return ms < SLOT_MS / 2 ? undefined : (1000 * counts.reduce((sum, count) => sum + count, 0)) / ms;
    },
  };
}

export function formatRowCount(count: number): string {
  return `${formatCount(count)} ${count === 1 ? 'row' : 'rows'}`;
}
