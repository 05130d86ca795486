import { beginsTurn, type StoredContent } from '../core/content.ts';
import type { Session, SessionSetup } from '../core/session.ts';
import { createTurns } from '../session/load.ts';

/** A session that nothing is saved of. */
export function createMemorySession(id: string): Session {
  const history = createTurns();
  let name: string | undefined;
  let setup: SessionSetup = {};
  let unanswered: StoredContent | undefined;
  return {
    id,
    contents: history.contents,
    records: history.items,
    compactions: history.compactions,
    compact: async (compaction) => history.compact(compaction),
    replyLimit: Number.POSITIVE_INFINITY,
    get name() {
      return name;
    },
    get turns() {
      return history.count;
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
    append: async (record) => {
      unanswered = undefined;
      history.add(record);
    },
    rename: async (wanted) => {
      name = wanted;
    },
    rewind: async (turns) => {
      unanswered = undefined;
      history.rewind(turns);
    },
    retractPrompt: async () => {
      const last = history.contents.at(-1);
      if (last === undefined || !beginsTurn(last)) return;
      history.rewind(1);
      unanswered = last;
    },
    replace: async (records) => {
      unanswered = undefined;
      history.clear();
      for (const record of records) history.add(record);
    },
    close: async () => {},
  };
}
