import type { App } from '../core/app.ts';
import { type Notify, toNoticeEvent } from '../core/event.ts';
import type { PrintOptions } from './report.ts';

interface NoticeCollector {
  /** Prints a notice at once if the command prints text. */
  readonly notify: Notify;
  /** What was not printed, for the report. */
  readonly take: () => readonly string[];
}

/** For commands that print a report and no events. */
export function createNoticeCollector({ quiet, json }: PrintOptions, { io }: App): NoticeCollector {
  const kept: string[] = [];
  return {
    take: () => kept.splice(0),
    notify(notice) {
      const event = toNoticeEvent(notice);
      if (event.type !== 'notice') return;
      if (quiet || json) kept.push(event.message);
      else void io.err.write(`gmn: ${event.message}\n`).catch(() => {});
    },
  };
}
