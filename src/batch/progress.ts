import type { App } from '../core/app.ts';
import { formatCount, formatDuration } from '../core/text/format.ts';
import { formatNotice } from '../core/text/notice.ts';
import { callEvery } from '../platform/runtime/clock.ts';

const REDRAW_MS = 250;
const LINE_MS = 30_000;

/** The columns of `^C`, which the terminal writes after the line: it must not begin another one. */
const ECHO = 2;

export type ProgressLine = ReturnType<typeof openProgressLine>;

/** One live line on a terminal, a line every half minute elsewhere, nothing with `isQuiet`. */
export function openProgressLine(
  { io: { err }, clock }: Pick<App, 'io' | 'clock'>,
  isQuiet: boolean,
  state: () => Omit<ProgressState, 'rate'>,
) {
  const meter = createRateMeter(clock.now);
  const isLive = err.isTerminal && err.rows !== undefined;
  let isDrawn = false;
  const write = (text: string): void => void err.write(text).catch(() => {});
  const erase = (): string => (isDrawn ? '\r\u001b[K' : '');
  const draw = (): void => {
    const line = formatProgress({ ...state(), rate: meter.rate() });
    write(isLive ? `\r\u001b[K${fitParts(line, err.columns - ECHO - 1)}` : `gmn: ${line}\n`);
    isDrawn = isLive;
  };
  const stop = isQuiet ? () => {} : callEvery(isLive ? REDRAW_MS : LINE_MS, draw);
  return {
    add: meter.add,
    notify(message: string): void {
      if (isQuiet) return;
      write(erase() + formatNotice(message, err));
      isDrawn = false;
    },
    end(): void {
      stop();
      if (isDrawn) write(erase());
      isDrawn = false;
    },
  };
}

/** Whole parts, as many as fit. */
function fitParts(line: string, width: number): string {
  if (line.length <= width) return line;
  const end = line.lastIndexOf(' · ', width);
  return line.slice(0, end > 0 ? end : Math.max(1, width));
}

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
  const parts = [isTotalKnown ? `${formatCount(done)}/${formatCount(total)}` : formatRowCount(done)];
  if (done > 0) parts.push(`${formatShare(ok, done)} ok`);
  if (inFlight !== undefined) parts.push(inFlight);
  else if (rate !== undefined) {
    parts.push(`${formatRate(rate)}/s`);
    if (isTotalKnown && rate > 0) parts.push(`${formatDuration(((total - done) / rate) * 1000)} left`);
  }
  if (cost !== undefined) parts.push(formatMoney(cost));
  if (pausedMs > 1000) parts.push(`the quota is used up, going on in ${formatDuration(pausedMs)}`);
  return parts.join(' · ');
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

function createRateMeter(now: () => number) {
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
