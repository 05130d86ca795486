import type { App } from '../../core/app.ts';
import type { Notify } from '../../core/event.ts';
import { copyConversation, createMemorySession } from '../../session/memory-session.ts';
import { NOT_SAVED } from '../../session/one-shot.ts';
import type { OpenedConversation, SessionOptions } from './conversation.ts';
import {
  checkSessionFlags,
  createStepSaver,
  isContinued,
  openSavedConversation,
  openSession,
  openStore,
} from './sessions.ts';

/**
 * One conversation for many turns: as a chat's, it is written step by step, or kept in memory if it is not saved. With the demo model it is
 * saved only if a flag names it. Throws AppError `usage`.
 */
export async function openLongConversation(
  options: SessionOptions,
  app: App,
  notify: Notify,
): Promise<OpenedConversation> {
  checkSessionFlags(options);
  const { noSession, demo, sessionName, sessionId } = options;
  const isNamed = sessionName !== undefined || sessionId !== undefined;
  const canBegin = !app.homes().isMissing && (isNamed || !demo);
  if (!noSession && (isContinued(options) || canBegin)) {
    return openSavedConversation(options, app, { pace: 'as-it-goes', notify });
  }
  const session = createMemorySession(app.clock);
  const { save } = createStepSaver(session);
  const conversation: OpenedConversation = {
    history: session,
    save: async () => {
      await save();
      return NOT_SAVED;
    },
    close: async () => {},
  };
  if (!isContinued(options)) return conversation;
  const earlier = await openSession(options, app, { report: notify, durability: 'synced' });
  await copyConversation(earlier.session, session);
  await earlier.session.close();
  return { ...conversation, setup: earlier.setup };
}

/** The session of this name goes on, or a new one begins with it; without a name a new one. Throws AppError `usage`. */
export async function openNamedConversation(
  name: string | undefined,
  app: App,
  notify: Notify,
): Promise<OpenedConversation> {
  if (name === undefined) return openLongConversation({}, app, notify);
  const { list } = openStore(app, notify);
  const isThere = (await list()).some((session) => session.name === name || session.id === name);
  return openLongConversation(isThere ? { resume: name } : { sessionName: name }, app, notify);
}
