import { type NoticeEvent, type Notify, toNoticeEvent } from '../../core/event.ts';
import type { Renderer } from '../../render/renderer.ts';

/** Notices that wait for a turn whose `warnings` they go into. */
const MAX_NOTICES = 100;

export type TurnNotices = ReturnType<typeof createTurnNotices>;

/** Notices go to the turn that runs; those that come before it wait for it. */
export function createTurnNotices() {
  const waiting: NoticeEvent[] = [];
  let show: Renderer | undefined;
  const notify: Notify = (notice) => {
    const event = toNoticeEvent(notice);
    if (show !== undefined) void show(event).catch(() => {});
    else if (waiting.length < MAX_NOTICES) waiting.push(event);
  };
  return {
    notify,
    /** Those that wait for a turn which does not come. */
    take: () => waiting.splice(0).flatMap((event) => (event.type === 'notice' ? [event.message] : [])),
    async showWith(render: Renderer, work: () => Promise<void>): Promise<void> {
      for (const event of waiting.splice(0)) await render(event);
      show = render;
      try {
        await work();
      } finally {
        show = undefined;
      }
    },
  };
}
