import type { App } from '../core/app.ts';
import type { KeptContent } from '../core/content.ts';
import type { History } from '../core/history.ts';
import type { Session, SessionStore } from '../core/session.ts';
import type { Kept } from '../mcp/server/engine.ts';
import type { Holds } from '../mcp/server/holds.ts';
import type { SavedHere } from '../session/open-session.ts';
import { type LocalStore, sessionStore } from '../session/store.ts';

/** Where the turns of the MCP server are kept. */
export interface ServeSessions {
  readonly store: SessionStore;
  /** Opens what a turn is kept in, and holds it until it is let go of. Throws AppError. */
  open(kept: Kept): Promise<OpenHistory>;
  /** Resolves when all that was closed is written down. */
  settled(): Promise<void>;
}

export interface OpenHistory {
  readonly history: History;
  /** Absent: it is not kept in a session. */
  readonly sessionId?: string;
  /** Lets go of the session; the answer need not wait for that. */
  readonly close: () => void;
  /** The id under which everything so far is in a file; undefined: something is not. */
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
    sessionStore({ ...app, home: app.homes().gmn, report, durability: 'written' });
  const begun = ({ earlier, cwd }: SessionKept, report: (message: string) => void): Promise<SavedHere> => {
    const store = storeThat(report);
    return earlier === undefined ? store.create({ cwd, by: 'mcp' }) : store.resume(earlier, cwd);
  };
  return {
    store: storeThat((message) => app.trace(`session: ${message}`)),
    settled: async () => void (await Promise.all(closings)),
    async open(kept) {
      if (kept.kind === 'history') return { ...NOT_A_SESSION, history: kept.history };
      const notices: string[] = [];
      const session = await begun(kept, (message) => void notices.push(message));
      const { id } = session;
      const free = holds.hold(id);
      const close = (): void => {
        const closing: Promise<void> = session.close().finally(() => {
          closings.delete(closing);
          free();
        });
        closings.add(closing);
      };
      return {
        history: eager(session),
        sessionId: id,
        close,
        savedId: () => (session.isSaved ? session.id : undefined),
        notices: () => notices.splice(0),
      };
    },
  };
}

const NOT_A_SESSION = { close: () => {}, savedId: () => undefined, notices: () => [] } as const;

/**
 * The session, but the request does not wait for its prompt to be in the file: the reply does. Earlier prompts that had no
 * reply are not sent again: what the service refused once it would refuse for ever.
 */
function eager(session: Session): History {
  const begin = session.contents.length;
  const earlier = session.contents.filter(
    (content, index, all) => !isPrompt(content) || !isPromptOrEnd(all[index + 1]),
  );
  return {
    get contents() {
      return [...earlier, ...session.contents.slice(begin)];
    },
    replyLimit: session.replyLimit,
    async append(record) {
      const written = session.append(record);
      if (record.kind !== 'prompt') await written;
    },
    overhear: async (delta) => session.overhear?.(delta),
  };
}

function isPromptOrEnd(content: KeptContent | undefined): boolean {
  return content === undefined || isPrompt(content);
}

function isPrompt({ role, parts }: KeptContent): boolean {
  return role === 'user' && !parts.some((part) => 'functionResponse' in part);
}
