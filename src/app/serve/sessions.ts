import type { App } from '../../core/app.ts';
import type { KeptContent } from '../../core/content.ts';
import type { History, TurnRecord } from '../../core/history.ts';
import type { Session, SessionStore } from '../../core/session.ts';
import { visible } from '../../core/text/terminal.ts';
import type { Holds } from '../../mcp/server/concurrency.ts';
import type { Kept } from '../../mcp/server/engine.ts';
import { afterUrgent } from '../../platform/runtime/clock.ts';
import type { SavedHere } from '../../session/open-session.ts';
import { type LocalStore, sessionStore } from '../../session/store.ts';

interface ServeSessions {
  readonly store: SessionStore;
  /**
   * Opens the history of a turn and locks its session until it is closed. `onSession` gets the id whenever it changes;
   * undefined if something could not be saved. Throws AppError.
   */
  open(kept: Kept, onSession?: OnSession): Promise<OpenHistory>;
  /** Resolves when all closed sessions are written. */
  settled(): Promise<void>;
}

type OnSession = (sessionId: string | undefined) => void;

export interface OpenHistory {
  readonly history: History;
  /** Releases the session in the background, so that the answer need not wait. */
  readonly close: () => void;
  /** Resolves when all records are written, or writing has failed. */
  readonly written: () => Promise<void>;
  /** The id of the session if everything is saved. */
  readonly savedId: () => string | undefined;
  /** Notices about the session that were not reported yet. */
  readonly notices: () => readonly string[];
}

type SessionKept = Extract<Kept, { kind: 'session' }>;

/** Uses the same store as the command line. */
export function serveSessions(app: App, holds: Holds): ServeSessions {
  const closings = new Set<Promise<void>>();
  const storeThat = (report: (message: string) => void): LocalStore =>
    // The caller still has its prompt, so waiting for fsync would only delay the answer.
    sessionStore({ ...app, home: app.homes().gmn, report, by: 'mcp', durability: 'written' });
  const begun = ({ earlier, cwd }: SessionKept, report: (message: string) => void): Promise<SavedHere> => {
    const store = storeThat(report);
    return earlier === undefined ? store.create({ cwd, by: 'mcp' }) : store.resume(earlier, cwd);
  };
  return {
    store: storeThat((message) => app.trace(`session: ${message}`)),
    settled: async () => void (await Promise.all(closings)),
    async open(kept, onSession = () => {}) {
      if (kept.kind === 'history') return { ...NOT_A_SESSION, history: kept.history };
      const notices: string[] = [];
      const session = await begun(kept, (message) => void notices.push(message));
      const { id } = session;
      notices.push(...leftOut(session.contents));
      const free = holds.hold(id);
      const close = (): void => {
        const closing: Promise<void> = afterUrgent()
          .then(session.close)
          .finally(() => {
            closings.delete(closing);
            free();
          });
        closings.add(closing);
      };
      let savedId = kept.earlier?.id;
      const written = eager(session, () => {
        const now = session.isSaved ? session.id : undefined;
        if (now !== savedId) onSession(now);
        savedId = now;
      });
      return { ...written, close, savedId: () => savedId, notices: () => notices.splice(0) };
    },
  };
}

const NOT_A_SESSION = {
  close: () => {},
  written: async () => {},
  savedId: () => undefined,
  notices: () => [],
} as const;

/**
 * Sends the request before its prompt is written; the reply waits for the write. Earlier prompts without a reply are
 * not sent again, since the API might reject them every time.
 */
function eager(session: Session, onWritten: () => void): Pick<OpenHistory, 'history' | 'written'> {
  const begin = session.contents.length;
  const earlier = session.contents.filter(
    (content, index, all) => !isPrompt(content) || !isPromptOrEnd(all[index + 1]),
  );
  let last: Promise<void> = Promise.resolve();
  /** Contents not handed to the session yet. */
  let ahead: readonly KeptContent[] = [];
  const tell = (record: TurnRecord): Promise<void> => {
    ahead = [];
    return session.append(record).then(onWritten);
  };
  const history: History = {
    get contents() {
      return [...earlier, ...session.contents.slice(begin), ...ahead];
    },
    replyLimit: session.replyLimit,
    async append(record) {
      const isPrompted = record.kind === 'prompt';
      if (isPrompted) ahead = [record.content];
      last = (isPrompted ? afterUrgent() : last).then(() => tell(record));
      if (!isPrompted) await last;
    },
    async overhear(delta) {
      // A delta may be written at once, and must follow its prompt.
      if (ahead.length > 0) await last;
      await session.overhear?.(delta);
    },
  };
  return { history, written: () => last };
}

/** Notices about unanswered prompts at the end: the caller may assume that the model knows them. */
function leftOut(contents: readonly KeptContent[]): readonly string[] {
  const since = contents.findLastIndex((content) => !isPrompt(content)) + 1;
  return contents.slice(since).map(({ parts }) => {
    const text = parts.flatMap((part) => ('text' in part ? [part.text] : [])).join(' ');
    const shown = text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
    return `an earlier prompt of this session had no answer, and the model did not see it now: "${visible(shown)}"`;
  });
}

const LONGEST_SHOWN = 100;

function isPromptOrEnd(content: KeptContent | undefined): boolean {
  return content === undefined || isPrompt(content);
}

function isPrompt({ role, parts }: KeptContent): boolean {
  return role === 'user' && !parts.some((part) => 'functionResponse' in part);
}
