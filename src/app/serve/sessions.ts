import type { App } from '../../core/app.ts';
import type { Locks } from '../../core/async.ts';
import { isPrompt, type StoredContent } from '../../core/content.ts';
import type { Compaction, History } from '../../core/history.ts';
import type { KeptSetup, Session } from '../../core/session.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { createLazyRedaction } from '../../engine/agent.ts';
import type { Conversation } from '../../engine/session/conversation.ts';
import { mergeSetup, toKeptSetup } from '../../engine/session/kept-setup.ts';
import type { TurnRequest, TurnStorage } from '../../mcp/server/engine.ts';
import { NOT_SAVED } from '../../session/one-shot.ts';
import type { LocalSession } from '../../session/open-session.ts';
import { type LocalStore, sessionStore } from '../../session/store.ts';

export interface ServedConversation extends Conversation {
  readonly setup: KeptSetup;
  close(): Promise<void>;
}

type SessionStorage = Extract<TurnStorage, { kind: 'session' }>;

export function openServeSessions(app: App, locks: Locks) {
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
    /** Locks the session until it is closed. `onSession` gets the id whenever it changes; undefined if it cannot be continued. */
    async open(storage: TurnStorage, onSession: TurnRequest['onSession'] = () => {}): Promise<ServedConversation> {
      if (storage.kind === 'history')
        return { history: storage.history, setup: {}, save: async () => NOT_SAVED, close: async () => {} };
      const notices: string[] = [];
      const session = await openSession(storage, (message) => void notices.push(message));
      notices.push(...formatUnanswered(session.contents));
      const unlock = locks.lock(session.id);
      let savedId = storage.earlier?.id;
      const history = skipUnanswered(session, () => {
        const now = session.isSaved ? session.id : undefined;
        if (now !== savedId) onSession(now);
        savedId = now;
      });
      return {
        history,
        setup: toKeptSetup(session, storage.earlier ?? {}),
        keepSetup: (asked) => session.choose(mergeSetup(session, asked)),
        save: async () => ({ sessionId: savedId, notices: notices.splice(0) }),
        close: () => session.close().finally(unlock),
      };
    },
  };
}

/** Earlier prompts without a reply are not sent again, since the API might reject them every time. */
function skipUnanswered(session: Session, onWritten: () => void): History {
  const begin = session.contents.length;
  const answered = [...session.contents.entries()].filter(
    ([index, content]) => !isPrompt(content) || !isPromptOrEnd(session.contents[index + 1]),
  );
  const earlier = answered.map(([, content]) => content);
  const toSession = (index: number): number => answered[index]?.[0] ?? index - earlier.length + begin;
  const fromSession = (index: number): number =>
    index >= begin ? index - begin + earlier.length : answered.filter(([at]) => at < index).length;
  return {
    get contents() {
      return [...earlier, ...session.contents.slice(begin)];
    },
    get compactions() {
      return session.compactions.map((compaction) => moveCompaction(compaction, fromSession));
    },
    compact: (compaction) => session.compact(moveCompaction(compaction, toSession)),
    keepOutput: session.keepOutput,
    replyLimit: session.replyLimit,
    append: (record) => session.append(record).then(onWritten),
    appendDelta: session.appendDelta,
  };
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
