import type { App } from '../../core/app.ts';
import { createSerial, type Locks } from '../../core/async.ts';
import { isPrompt, type StoredContent } from '../../core/content.ts';
import type { Compaction, History, TurnRecord } from '../../core/history.ts';
import type { Session, SessionSetup, SessionStore } from '../../core/session.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { createLazyRedaction } from '../../engine/agent.ts';
import type { Conversation } from '../../engine/conversation.ts';
import { mergeSetup, toKeptSetup } from '../../engine/kept-setup.ts';
import type { TurnStorage } from '../../mcp/server/engine.ts';
import { yieldToIo, yieldToRequest } from '../../platform/runtime/clock.ts';
import { NOT_SAVED } from '../../session/one-shot.ts';
import type { LocalSession } from '../../session/open-session.ts';
import { type LocalStore, sessionStore } from '../../session/store.ts';

export interface ServeSessions {
  readonly store: SessionStore;
  /**
   * Locks the session until the history is closed. `onSession` gets the id whenever it changes; undefined if something
   * could not be saved. Throws AppError.
   */
  open(storage: TurnStorage, onSession?: OnSession): Promise<ServedConversation>;
  /** Resolves when everything in the background is done. */
  waitForSaves(): Promise<void>;
}

type OnSession = (sessionId: string | undefined) => void;

export interface ServedConversation extends Conversation {
  /** Of the session that it continues. */
  readonly setup: SessionSetup;
  /** Runs in the background, so that the answer need not wait. */
  close(): void;
}

type SessionStorage = Extract<TurnStorage, { kind: 'session' }>;

export function openServeSessions(app: App, locks: Locks): ServeSessions {
  const saves = new Set<Promise<void>>();
  const saveLater = (work: () => Promise<void>): void => {
    const save: Promise<void> = yieldToIo()
      .then(work)
      .finally(() => saves.delete(save));
    saves.add(save);
  };
  const openServeStore = (report: (message: string) => void): LocalStore =>
    // The caller still has its prompt, so waiting for fsync would only delay the answer.
    sessionStore({ ...app, home: app.homes().gmn, report, by: 'mcp', durability: 'written' });
  const openSession = async (
    { earlier, cwd, name: wanted }: SessionStorage,
    report: (message: string) => void,
  ): Promise<LocalSession> => {
    const store = openServeStore(report);
    if (earlier !== undefined) return store.resume(earlier, cwd);
    const name = await createLazyRedaction(app).redact(wanted);
    return store.create({ cwd, by: 'mcp', name });
  };
  return {
    store: openServeStore((message) => app.trace(`session: ${message}`)),
    waitForSaves: async () => void (await Promise.all(saves)),
    async open(storage, onSession = () => {}) {
      if (storage.kind === 'history')
        return { history: storage.history, setup: {}, save: async () => NOT_SAVED, close() {} };
      const notices: string[] = [];
      const session = await openSession(storage, (message) => void notices.push(message));
      const { id } = session;
      notices.push(...formatUnanswered(session.contents));
      const unlock = locks.lock(id);
      const close = (): void => saveLater(() => session.close().finally(unlock));
      let savedId = storage.earlier?.id;
      const { history, waitForWrites } = sendBeforeWrite(session, () => {
        const now = session.isSaved ? session.id : undefined;
        if (now !== savedId) onSession(now);
        savedId = now;
      });
      return {
        history,
        setup: toKeptSetup(session, storage.earlier ?? {}),
        keepSetup: (asked) => session.choose(mergeSetup(session, asked)),
        async save() {
          await waitForWrites();
          return { sessionId: savedId, notices: notices.splice(0) };
        },
        close,
      };
    },
  };
}

/**
 * Sends the request before its prompt is written; the reply waits for the write. Earlier prompts without a reply are
 * not sent again, since the API might reject them every time.
 */
function sendBeforeWrite(
  session: Session,
  onWritten: () => void,
): { readonly history: History; waitForWrites(): Promise<void> } {
  const begin = session.contents.length;
  const answered = [...session.contents.entries()].filter(
    ([index, content]) => !isPrompt(content) || !isPromptOrEnd(session.contents[index + 1]),
  );
  const earlier = answered.map(([, content]) => content);
  const toSession = (index: number): number => answered[index]?.[0] ?? index - earlier.length + begin;
  const fromSession = (index: number): number =>
    index >= begin ? index - begin + earlier.length : answered.filter(([at]) => at < index).length;
  const inOrder = createSerial();
  const waitForWrites = (): Promise<void> => inOrder(async () => {});
  let unwritten: readonly StoredContent[] = [];
  const appendRecord = (record: TurnRecord): Promise<void> => {
    unwritten = [];
    return session.append(record).then(onWritten);
  };
  const history: History = {
    get contents() {
      return [...earlier, ...session.contents.slice(begin), ...unwritten];
    },
    get compactions() {
      return session.compactions.map((compaction) => moveCompaction(compaction, fromSession));
    },
    compact: (compaction) => inOrder(() => session.compact(moveCompaction(compaction, toSession))),
    keepOutput: session.keepOutput,
    replyLimit: session.replyLimit,
    async append(record) {
      const isPrompted = record.kind === 'prompt';
      if (isPrompted) unwritten = [record.content];
      const written = inOrder(async () => {
        if (isPrompted) await yieldToRequest();
        await appendRecord(record);
      });
      if (!isPrompted) await written;
    },
    async appendDelta(delta) {
      // A delta may be written at once, and must follow its prompt.
      if (unwritten.length > 0) await waitForWrites();
      await session.appendDelta?.(delta);
    },
  };
  return { history, waitForWrites };
}

/** The same for contents that have other indices. */
function moveCompaction({ summary, outputs }: Compaction, move: (index: number) => number): Compaction {
  const { end = 0, prompt } = summary ?? {};
  const moved = { end: move(end), prompt: prompt === undefined ? undefined : move(prompt) };
  return {
    summary: summary && { ...summary, ...moved },
    outputs: outputs.map((output) => ({ ...output, content: move(output.content) })),
  };
}

/** The caller may assume that the model has seen its unanswered prompts. */
function formatUnanswered(contents: readonly StoredContent[]): readonly string[] {
  const since = contents.findLastIndex((content) => !isPrompt(content)) + 1;
  return contents.slice(since).map(({ parts }) => {
    const text = parts.flatMap((part) => ('text' in part ? [part.text] : [])).join(' ');
    const prompt = text.length > MAX_PROMPT_CHARS ? `${text.slice(0, MAX_PROMPT_CHARS)}…` : text;
    return `an earlier prompt of this session had no answer, and the model did not see it now: "${sanitize(prompt)}"`;
  });
}

const MAX_PROMPT_CHARS = 100;

function isPromptOrEnd(content: StoredContent | undefined): boolean {
  return content === undefined || isPrompt(content);
}
