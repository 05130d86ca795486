import { type NoticeEvent, type Notify, toNoticeEvent } from '../core/event.ts';

/** What the run says: shown with the events of a turn while there is one, else kept until the chat shows it. */
export interface Reports {
  readonly notify: Notify;
  /** What was kept. */
  take(): readonly string[];
  /** Shows what is said while `work` runs. */
  showWith<Result>(show: (event: NoticeEvent) => Promise<void>, work: () => Promise<Result>): Promise<Result>;
}

export function createReports(): Reports {
  const kept: string[] = [];
  let shown: ((event: NoticeEvent) => Promise<void>) | undefined;
  return {
    notify(notice) {
      const event = toNoticeEvent(notice);
      // In a chat the line of the call says that it was denied.
      if (event.type === 'notice' && event.isDenial) return;
      if (shown !== undefined) void shown(event).catch(() => {});
      else if (event.type === 'notice') kept.push(event.message);
    },
    take: () => kept.splice(0),
    async showWith(show, work) {
      const before = shown;
      shown = show;
      try {
        return await work();
      } finally {
        shown = before;
      }
    },
  };
}
