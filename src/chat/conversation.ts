import { listSent, prepareEstimates } from '../agent/compacted.ts';
import type { App } from '../core/app.ts';
import type { StoredContent } from '../core/content.ts';
import type { Reply } from '../core/model.ts';
import type { KeptSetup, SavedSession, Session, SessionStore, SessionSummary } from '../core/session.ts';
import { createLazyRedaction } from '../engine/agent.ts';
import type { Conversation, SessionOptions } from '../engine/session/conversation.ts';
import { toKeptSetup } from '../engine/session/kept-setup.ts';
import { findContinued, openStore } from '../engine/session/sessions.ts';
import { nextTurn } from '../platform/runtime/clock.ts';
import { copyConversation, createMemorySession } from '../session/memory-session.ts';
import { deriveTitle } from '../session/record.ts';

/** What was said, and where it is kept. */
export interface ChatConversation {
  readonly store: SessionStore;
  readonly session: Session;
  /** Whether the session is one of the store. */
  readonly isSaved: boolean;
  /** For `/retry`; it may have failed, and then is not in the session. */
  lastPrompt: StoredContent | undefined;
  /** Tokens of the last request and its reply, that is, how full the window is. Undefined if unknown. */
  readonly windowTokens: number | undefined;
  /** Takes a reply, for `windowTokens`. */
  measureWindow(reply: Pick<Reply, 'usage' | 'promptTokens'>): void;
  /** Call when something else was said: `lastPrompt` and `windowTokens` no longer apply. */
  forgetLast(): void;
  /** Goes on with a new session, saved if this one is. */
  begin(): Promise<void>;
  /** Goes on with a saved one. */
  load(summary: SessionSummary): Promise<void>;
  /** Goes on in a session of the store, which gets all that was said. */
  save(name: string | undefined): Promise<void>;
}

interface OpenedSession {
  readonly session: Session;
  readonly isSaved: boolean;
}

/** `kept` is how the session that goes on was asked before. Failures to save or read are passed to `report`. */
export async function openChatConversation(
  options: SessionOptions,
  app: App,
  report: (message: string) => void,
): Promise<{ readonly conversation: ChatConversation; readonly kept?: KeptSetup }> {
  const store = openStore(app, report, { by: 'chat' });
  const { kept, ...opened } = await openChatSession(options, app, store);
  await prepareWindow(opened.session);
  return { conversation: createChatConversation(opened, store, app), kept };
}

/**
 * The continued session, a new one, or one that is not saved. With the demo model a session is saved only if a flag
 * names it.
 */
async function openChatSession(
  options: SessionOptions,
  app: App,
  store: SessionStore,
): Promise<OpenedSession & { readonly kept?: KeptSetup }> {
  const { clock, cwd, homes } = app;
  const { resume, sessionId: id, noSession, demo } = options;
  const name = await createLazyRedaction(app).redact(options.sessionName);
  if (resume !== undefined || options.continue) {
    const summary = await findContinued(options, app, store);
    const session = options.fork ? await store.fork(summary, { cwd, name }) : await store.resume(summary, cwd);
    const kept = toKeptSetup(session, summary);
    if (!noSession) return { session, isSaved: true, kept };
    await session.close();
    const copy = createMemorySession(clock);
    await copyConversation(session, copy);
    return { session: copy, isSaved: false, kept };
  }
  const isUnsaved = (noSession || demo) && name === undefined && id === undefined;
  if (isUnsaved || homes().isMissing) return { session: createMemorySession(clock), isSaved: false };
  return { session: await store.create({ cwd, by: 'chat', name, id }), isSaved: true };
}

function createChatConversation(opened: OpenedSession, store: SessionStore, { clock, cwd }: App): ChatConversation {
  let { session, isSaved } = opened;
  let windowTokens: number | undefined;
  const conversation: ChatConversation = {
    store,
    get session() {
      return session;
    },
    get isSaved() {
      return isSaved;
    },
    lastPrompt: session.unanswered,
    get windowTokens() {
      return windowTokens;
    },
    measureWindow(reply) {
      windowTokens = toWindowTokens(reply);
    },
    forgetLast() {
      windowTokens = undefined;
      conversation.lastPrompt = undefined;
    },
    async begin() {
      const before = session;
      session = isSaved ? await store.create({ cwd, by: 'chat' }) : createMemorySession(clock);
      await before.close();
      conversation.forgetLast();
    },
    async load(summary) {
      const loaded = await store.resume(summary, cwd);
      await prepareWindow(loaded);
      await session.close();
      session = loaded;
      isSaved = true;
      conversation.forgetLast();
      conversation.lastPrompt = loaded.unanswered;
    },
    async save(name) {
      const saved = await store.create({ cwd, by: 'chat', name });
      await copyConversation(session, saved);
      session = saved;
      isSaved = true;
    },
  };
  return conversation;
}

/** Await this before a long session becomes the chat's: the status line needs its size at once. */
function prepareWindow(session: Session): Promise<void> {
  return prepareEstimates(listSent(session), nextTurn);
}

/** The tokens of this call that the next request sends again; thoughts are not sent. */
function toWindowTokens({ usage, promptTokens }: Pick<Reply, 'usage' | 'promptTokens'>): number | undefined {
  const prompt = promptTokens ?? usage.promptTokenCount;
  return prompt === undefined ? undefined : prompt + (usage.candidatesTokenCount ?? 0);
}

/** For a turn: every step is written before the next; a prompt without a reply is removed, and waits for `/retry`. */
export function createTurnConversation({ session, isSaved }: ChatConversation): Conversation {
  const before = session.contents.length;
  return {
    history: session,
    sessionId: isSaved ? session.id : undefined,
    keepSetup: session.choose,
    async save() {
      if (session.contents.length === before + 1) await session.retractPrompt();
      return { notices: [] };
    },
  };
}

/** The session as saved. If it is not, or not fully, on disk, it is built from memory. */
export async function readSavedSession(
  { store, session }: ChatConversation,
  { model, cwd, at }: { readonly model: string; readonly cwd: string; readonly at: number },
): Promise<SavedSession> {
  if (session.isSaved) return store.read(await store.find(session.id));
  const { id, name, turns, contents, records, unanswered } = session;
  const first = contents.find(({ role }) => role === 'user');
  return {
    summary: {
      ...{ id, name, cwd, model, turns, createdAt: at, updatedAt: at, bytes: 0, file: '' },
      ...{ isUnanswered: unanswered !== undefined, source: 'chat' },
      title: first === undefined ? '' : deriveTitle(first),
    },
    records,
    notices: [],
  };
}
