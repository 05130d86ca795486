import type { Clock, Out } from '../core/io.ts';
import { formatNotice } from '../core/text/notice.ts';
import { callEvery } from '../platform/runtime/clock.ts';
import { createRateMeter, formatProgress, type ProgressState } from './progress.ts';

const REDRAW_MS = 250;
const LINE_MS = 30_000;

/** The columns of `^C`, which the terminal writes after the line: it must not begin another one. */
const ECHO = 2;

export type ProgressLine = ReturnType<typeof openProgressLine>;

/** One live line on a terminal, a line every half minute elsewhere, nothing with `isQuiet`. */
export function openProgressLine(
  err: Out,
  {
    clock,
    isQuiet,
    state,
  }: { readonly clock: Clock; readonly isQuiet: boolean; readonly state: () => Omit<ProgressState, 'rate'> },
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
