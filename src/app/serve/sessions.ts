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

/** Where the turns of the MCP server are kept. */
interface ServeSessions {
  readonly store: SessionStore;
  /**
   * Opens what a turn is kept in, and holds it until it is let go of. `onSession` hears the id under which everything so far
   * is in a file whenever that is not the one it had; undefined: something is not. Throws AppError.
   */
  open(kept: Kept, onSession?: OnSession): Promise<OpenHistory>;
  /** Resolves when all that was closed is written down. */
  settled(): Promise<void>;
}

type OnSession = (sessionId: string | undefined) => void;

export interface OpenHistory {
  readonly history: History;
  /** Lets go of the session; the answer need not wait for that. */
  readonly close: () => void;
  /** Resolves when what was added is in the file, or cannot be. */
  readonly written: () => Promise<void>;
  /** That id. */
  readonly savedId: () => string | undefined;
  /** What the caller should know of the session and was not told yet. */
  readonly notices: () => readonly string[];
}

type SessionKept = Extract<Kept, { kind: 'session' }>;

/** The sessions of the command line. */
export function serveSessions(app: App, holds: Holds): ServeSessions {
  const closings = new Set<Promise<void>>();
  const storeThat = (report: (message: string) => void): LocalStore =>
    // The caller has its prompt; waiting for the disk would only delay the answer.
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
 * The session, but the request goes before its prompt is written to the file; the reply waits for that. Earlier prompts that had
 * no reply are not sent again: what the service refused once it would refuse for ever.
 */
function eager(session: Session, onWritten: () => void): Pick<OpenHistory, 'history' | 'written'> {
  const begin = session.contents.length;
  const earlier = session.contents.filter(
    (content, index, all) => !isPrompt(content) || !isPromptOrEnd(all[index + 1]),
  );
  let last: Promise<void> = Promise.resolve();
  /** What the session was not told yet. */
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
      // What is heard may be written at once, and stands after its prompt.
      if (ahead.length > 0) await last;
      await session.overhear?.(delta);
    },
  };
  return { history, written: () => last };
}

/** What to say of the prompts at the end that had no reply: whoever goes on may take them for known. */
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
