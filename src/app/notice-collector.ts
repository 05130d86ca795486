import type { App } from '../core/app.ts';
import { type Notify, toNoticeEvent } from '../core/event.ts';
import { formatNotice } from '../core/text/notice.ts';
import type { PrintOptions } from './report.ts';

/** For commands that print a report and no events. */
export function createNoticeCollector({ quiet, json }: PrintOptions, { io }: App) {
  const kept: string[] = [];
  return {
    /** What was not printed, for the report. */
    take: (): readonly string[] => kept.splice(0),
    /** Prints a notice at once if the command prints text. */
    notify(notice: Parameters<Notify>[0]): void {
      const event = toNoticeEvent(notice);
      if (event.type !== 'notice') return;
      if (quiet || json) kept.push(event.message);
      else void io.err.write(formatNotice(event.message, io.err)).catch(() => {});
    },
  };
}
