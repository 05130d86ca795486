import type { KeptContent } from '../core/content.ts';
import type { Session, SessionSetup } from '../core/session.ts';
import { exchanges } from '../session/exchanges.ts';
import { recordOf } from '../session/load.ts';

/** A conversation of which nothing is kept when the chat ends. */
export function memorySession(id: string, earlier: SessionSetup = {}): Session {
  const talk = exchanges<KeptContent>();
  let name: string | undefined;
  let setup = earlier;
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
    append: async ({ kind, content }) => talk.add(content, kind === 'prompt' ? 'prompt' : 'other'),
    rename: async (wanted) => {
      name = wanted;
    },
    rewind: async (turns) => talk.rewind(turns),
    replace: async (contents) => {
      talk.clear();
      for (const content of contents) talk.add(content, recordOf(content, '').kind === 'prompt' ? 'prompt' : 'other');
    },
    close: async () => {},
  };
}
