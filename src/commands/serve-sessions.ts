import type { App } from '../core/app.ts';
import type { History } from '../core/history.ts';
import type { Session, SessionStore } from '../core/session.ts';
import type { Kept } from '../mcp/server/engine.ts';
import { sessionStore } from '../session/store.ts';
import { turnQueues } from './serve-queue.ts';

/** Where the turns of the MCP server are kept. */
export interface ServeSessions {
  readonly store: SessionStore;
  /** Opens what a turn is kept in, after the turns of the same session before it. Throws AppError, or the signal's reason. */
  open(kept: Kept, signal: AbortSignal): Promise<OpenHistory>;
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
export function serveSessions(app: App): ServeSessions {
  const queues = turnQueues();
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
    async open(kept, signal) {
      if (kept.kind === 'history') return { history: kept.history, close: () => {} };
      const { earlier } = kept;
      let leave = earlier === undefined ? () => {} : await queues.enter(earlier.id, signal);
      try {
        const session = await begun(kept);
        // Whoever goes on with a new one must wait until it is let go of, too.
        if (earlier === undefined) leave = await queues.enter(session.id, signal);
        const close = (): void => {
          const closing: Promise<void> = session.close().finally(() => {
            leave();
            closings.delete(closing);
          });
          closings.add(closing);
        };
        return { history: eager(session), sessionId: session.id, close };
      } catch (thrown) {
        leave();
        throw thrown;
      }
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
