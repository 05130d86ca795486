import { isAbsolute } from 'node:path';
import type { App } from '../core/app.ts';
import { createLimit, loadOnce } from '../core/async.ts';
import { AppError } from '../core/error.ts';
import type { SessionSummary } from '../core/session.ts';
import { realPath } from '../platform/files/path.ts';
import { sessionNotFoundError } from './client.ts';
import type { AcpOptions, SessionContext, SessionRequest } from './open.ts';
import type { ListSessionsRequest, ListSessionsResponse, SessionInfo } from './sdk.ts';
import type { EditorSession } from './session.ts';

const PAGE = 100;

export type Sessions = ReturnType<typeof createSessions>;

/** The sessions that are open, by id, and those that are saved. */
export function createSessions(options: AcpOptions, app: App) {
  const opened = new Map<string, EditorSession>();
  const opening = new Set<Promise<EditorSession>>();
  /** What opens, closes or deletes a session waits for the others that do so with the same one. */
  const { run: runInTurn } = createLimit({ maxRunning: Number.POSITIVE_INFINITY });
  let isOver = false;
  const openBudget = loadOnce(async () => {
    const { maxCost } = options;
    const hint = 'Start gmn acp with a higher --max-cost.';
    return maxCost === undefined
      ? undefined
      : (await import('../engine/limits/budget.ts')).openBudget({ maxCost, hint }, app);
  });
  const openStore = loadOnce(async () => {
    const { openStore: open } = await import('../engine/session/sessions.ts');
    return open(app, (message) => app.trace(`acp: ${message}`), { by: 'chat' });
  });
  const requireSaved = async (id: string): Promise<SessionSummary> => {
    const found = await (await openStore()).findById(id);
    if (found === undefined) throw sessionNotFoundError(id);
    return found;
  };
  const requireOpen = (id: string): EditorSession => {
    const session = opened.get(id);
    if (session === undefined) throw sessionNotFoundError(id);
    return session;
  };
  const close = async (id: string): Promise<void> => {
    const session = opened.get(id);
    opened.delete(id);
    await session?.close();
  };
  const remove = async (id: string): Promise<void> => {
    await close(id);
    await (await openStore()).discard(await requireSaved(id));
  };
  const openNow = async (request: SessionRequest, createClient: SessionContext['createClient']) => {
    const { resume } = request;
    if (resume !== undefined) {
      await requireSaved(resume);
      if (options.noSession) throw loadsNothingError();
      // An editor that forgot it asks for it again.
      await close(resume);
    }
    const { openEditorSession } = await import('./open.ts');
    const session = await openEditorSession(request, { app, options, budget: await openBudget(), createClient });
    opened.set(session.id, session);
    return session;
  };
  return {
    /** Throws AppError. */
    async open(request: SessionRequest, createClient: SessionContext['createClient']): Promise<EditorSession> {
      if (isOver) throw new AppError('interrupted', 'gmn is about to end');
      const work = runInTurn(() => openNow(request, createClient), { key: request.resume });
      opening.add(work);
      return work.finally(() => opening.delete(work));
    },
    find: (id: string): EditorSession | undefined => opened.get(id),
    /** Throws AppError `usage` if it is not open. */
    require: requireOpen,
    close: (id: string): Promise<void> => runInTurn(() => close(requireOpen(id).id), { key: id }),
    /** To the trash, from where `gmn sessions restore` takes it. */
    remove: (id: string): Promise<void> => runInTurn(() => remove(id), { key: id }),
    async list({ cwd, cursor }: ListSessionsRequest): Promise<ListSessionsResponse> {
      const start = Number(cursor ?? 0);
      if (!Number.isSafeInteger(start) || start < 0) throw new AppError('usage', 'this is no cursor of gmn');
      const wanted = cwd && (realPath(cwd) ?? cwd);
      const all = (await (await openStore()).list()).filter(
        (summary) => summary.source === 'chat' && isAbsolute(summary.cwd) && (!wanted || summary.cwd === wanted),
      );
      const end = start + PAGE;
      const nextCursor = end < all.length ? String(end) : undefined;
      return { sessions: all.slice(start, end).map(toSessionInfo), nextCursor };
    },
    async closeAll(): Promise<void> {
      isOver = true;
      await Promise.allSettled(opening);
      await Promise.allSettled([...opened.keys()].map(close));
    },
  };
}

function loadsNothingError(): AppError {
  return new AppError('usage', 'gmn acp was started with --no-session, and opens no saved session', {
    hint: 'Leave that flag out of the settings of the editor.',
  });
}

function toSessionInfo({ id, cwd, name, title, updatedAt }: SessionSummary): SessionInfo {
  return { sessionId: id, cwd, title: name ?? title, updatedAt: new Date(updatedAt).toISOString() };
}
