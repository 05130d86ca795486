import { memoryHistory } from '../agent/memory-history.ts';
import type { App } from '../core/app.ts';
import { NOT_SAVED, runRecords } from '../session/one-shot.ts';
import type { SavedHere } from '../session/open-session.ts';
import type { PromptHistory, SessionOptions } from './session-options.ts';
import { openStore } from './session-store.ts';
import { checkSessionFlags } from './session-usage.ts';

/**
 * The conversation of a run that goes on with a session, or begins one under a name or id that was given. It is in our
 * hands until it is closed. Throws AppError `usage`.
 */
export async function sessionHistory(options: SessionOptions, app: App): Promise<PromptHistory> {
  checkSessionFlags(options);
  const notices: string[] = [];
  const report = (message: string): void => void notices.push(message);
  const session = await open(options, app, report);
  const early = notices.splice(0);
  const run = runRecords(app.clock, session.contents);
  if (options.noSession) {
    await session.close();
    const history = memoryHistory({ earlier: session.contents });
    return { history, notices: early, save: async () => NOT_SAVED, close: async () => {} };
  }
  return {
    history: run,
    sessionId: session.id,
    notices: early,
    async save() {
      if (run.loss !== undefined) return { notices: [run.loss] };
      if (!run.isAnswered) return NOT_SAVED;
      await session.appendAll(run.records);
      const sessionId = session.isSaved ? { sessionId: session.id } : {};
      return { ...sessionId, notices: notices.splice(0) };
    },
    close: () => session.close(),
  };
}

async function open(options: SessionOptions, app: App, report: (message: string) => void): Promise<SavedHere> {
  const store = openStore(app, report);
  const { cwd } = app;
  const { sessionName: name, sessionId: id, resume } = options;
  if (options.continue || resume !== undefined) {
    const summary = resume === undefined ? await store.newestIn(cwd) : await store.find(resume);
    if (!options.fork) return store.resume(summary, cwd);
    return store.fork(summary, { cwd, ...(name === undefined ? {} : { name }) });
  }
  return store.create({
    cwd,
    by: 'prompt',
    ...(name === undefined ? {} : { name }),
    ...(id === undefined ? {} : { id }),
  });
}
