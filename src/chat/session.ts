import type { KeptContent } from '../core/content.ts';
import type { Session, SessionSetup } from '../core/session.ts';
import { exchanges } from '../session/exchanges.ts';
import { recordOf } from '../session/load.ts';

/** A conversation of which nothing is kept when the chat ends. */
export function memorySession(id: string, earlier: SessionSetup = {}): Session {
  const talk = exchanges<KeptContent>();
  let name: string | undefined;
  let setup = earlier;
  let unanswered: KeptContent | undefined;
  return {
    id,
    contents: talk.items,
    replyLimit: Number.POSITIVE_INFINITY,
    get name() {
      return name;
    },
    get turns() {
      return talk.count;
    },
    get setup() {
      return setup;
    },
    choose: (next) => {
      setup = next;
    },
    isSaved: false,
    get unanswered() {
      return unanswered;
    },
    append: async ({ kind, content }) => {
      unanswered = undefined;
      talk.add(content, kind === 'prompt' ? 'prompt' : 'other');
    },
    rename: async (wanted) => {
      name = wanted;
    },
    rewind: async (turns) => {
      unanswered = undefined;
      talk.rewind(turns);
    },
    takeBack: async () => {
      const last = talk.items.at(-1);
      if (last === undefined || recordOf(last, '').kind !== 'prompt') return;
      talk.rewind(1);
      unanswered = last;
    },
    replace: async (contents) => {
      unanswered = undefined;
      talk.clear();
      for (const content of contents) talk.add(content, recordOf(content, '').kind === 'prompt' ? 'prompt' : 'other');
    },
    close: async () => {},
  };
}
