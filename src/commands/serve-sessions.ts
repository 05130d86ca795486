import type { App } from '../core/app.ts';
import type { History } from '../core/history.ts';
import type { Session, SessionStore } from '../core/session.ts';
import type { Kept } from '../mcp/server/engine.ts';
import type { Holds } from '../mcp/server/holds.ts';
import { sessionStore } from '../session/store.ts';

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
}

type SessionKept = Extract<Kept, { kind: 'session' }>;

/** The sessions of the command line. */
export function serveSessions(app: App, holds: Holds): ServeSessions {
  const closings = new Set<Promise<void>>();
  const store = sessionStore({
    ...app,
    home: app.homes().gmn,
    report: (message) => app.trace(`session: ${message}`),
    // The caller has its prompt; waiting for the disk would only delay the answer.
    durability: 'written',
  });
  const begun = ({ earlier, cwd }: SessionKept): Promise<Session> =>
    earlier === undefined ? store.create({ cwd, by: 'mcp' }) : store.resume(earlier, cwd);
  return {
    store,
    settled: async () => void (await Promise.all(closings)),
    async open(kept) {
      if (kept.kind === 'history') return { history: kept.history, close: () => {} };
      const session = await begun(kept);
      const { id } = session;
      const free = holds.hold(id);
      const close = (): void => {
        const closing: Promise<void> = session.close().finally(() => {
          closings.delete(closing);
          free();
        });
        closings.add(closing);
      };
      return { history: eager(session), sessionId: id, close };
    },
  };
}

/** The session, but the request does not wait for its prompt to be in the file: the reply does. */
function eager(session: Session): History {
  return {
    contents: session.contents,
    replyLimit: session.replyLimit,
    async append(record) {
      const written = session.append(record);
      if (record.kind !== 'prompt') await written;
    },
    overhear: async (delta) => session.overhear?.(delta),
  };
}
