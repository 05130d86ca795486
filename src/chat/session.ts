import { beginsTurn, type StoredContent } from '../core/content.ts';
import type { SavedSession, Session, SessionSetup } from '../core/session.ts';
import { createTurns } from '../session/load.ts';
import { deriveTitle } from '../session/record.ts';
import type { Chat } from './chat.ts';

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

/** Into an empty session. */
export async function copyConversation({ setup, records, compactions }: Session, to: Session): Promise<void> {
  to.choose(setup);
  await to.replace(records);
  for (const compaction of compactions) await to.compact(compaction);
}

/**
 * The chat's session as saved. If it is not, or not fully, on disk, it is built from memory without its original times.
 */
export async function readSavedSession({ store, session, cwd, clock, run }: Chat): Promise<SavedSession> {
  if (session.isSaved) return store.read(await store.find(session.id));
  const { id, name, turns, contents, records, unanswered } = session;
  const { model } = run.facts.agent.request;
  const at = clock.now();
  const first = contents.find(({ role }) => role === 'user');
  return {
    summary: {
      ...{ id, name, cwd, model, turns, createdAt: at, updatedAt: at, bytes: 0, file: '' },
      ...{ isUnanswered: unanswered !== undefined, source: 'chat' },
      title: first === undefined ? '' : deriveTitle(first),
    },
    records: records.map((record) => ({ ...record, at })),
    notices: [],
  };
}
