import type { SavedSession } from '../core/session.ts';
import { recordOf } from '../session/load.ts';
import { titleOf } from '../session/record.ts';
import type { Chat } from './chat.ts';

/** The session of a chat as it is read back, also where it is not, or not all of it, on disk: then without its times. */
export async function savedSession({ store, session, cwd, clock, assistant }: Chat): Promise<SavedSession> {
  if (session.isSaved) return store.read(await store.find(session.id));
  const { id, name, turns, contents, unanswered } = session;
  const { model } = assistant.agent.request;
  const at = clock.now();
  const first = contents.find(({ role }) => role === 'user');
  return {
    summary: {
      ...{ id, cwd, model, turns, createdAt: at, updatedAt: at, bytes: 0, file: '' },
      ...{ isUnanswered: unanswered !== undefined, source: 'chat' },
      ...(name === undefined ? {} : { name }),
      title: first === undefined ? '' : titleOf(first),
    },
    records: contents.map((content) => ({ ...recordOf(content, model), at })),
    notices: [],
  };
}
