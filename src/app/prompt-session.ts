import { memoryHistory } from '../agent/memory-history.ts';
import type { App } from '../core/app.ts';
import { NOT_SAVED, runRecords } from '../session/one-shot.ts';
import type { SavedHere } from '../session/open-session.ts';
import { openStore } from './session-store.ts';
import { checkSessionFlags } from './session-usage.ts';
import type { PromptHistory, SessionOptions } from './sessions.ts';

/**
 * The conversation of a run that goes on with a session, begins one under a name or id that was given, or is saved as it goes.
 * It is in our hands until it is closed. Throws AppError `usage`.
 */
export async function sessionHistory(
  options: SessionOptions,
  app: App,
  pace: 'as-it-goes' | 'when-over',
): Promise<PromptHistory> {
  checkSessionFlags(options);
  const notices: string[] = [];
  const report = (message: string): void => void notices.push(message);
  const session = await open(options, app, report);
  const early = notices.splice(0);
  if (options.noSession) {
    await session.close();
    const history = memoryHistory({ earlier: session.contents });
    return { history, notices: early, save: async () => NOT_SAVED, close: async () => {} };
  }
  const saving = pace === 'as-it-goes' ? savedAsItGoes(session) : savedWhenOver(session, app);
  return {
    ...saving,
    get sessionId() {
      return saving.sessionId;
    },
    notices: early,
    async save() {
      const isKept = await saving.save();
      if (typeof isKept === 'string') return { notices: [isKept] };
      const sessionId = isKept && session.isSaved ? { sessionId: session.id } : {};
      return { ...sessionId, notices: notices.splice(0) };
    },
    close: () => session.close(),
  };
}

interface Keeping extends Pick<PromptHistory, 'history' | 'sessionId' | 'isResumable'> {
  /** Whether there was something to keep; else, why it could not be, in words for the person. */
  save(): Promise<boolean | string>;
}

/** As in a chat: every step is in the file before the next, and a prompt of which nothing came does not count. */
function savedAsItGoes(session: SavedHere): Keeping {
  const before = session.contents.length;
  return {
    history: session,
    get sessionId() {
      return session.isSaved ? session.id : undefined;
    },
    isResumable: true,
    async save() {
      const steps = session.contents.length - before;
      if (steps === 1) await session.takeBack();
      return steps > 0;
    },
  };
}

function savedWhenOver(session: SavedHere, { clock }: App): Keeping {
  const run = runRecords(clock, session.contents);
  return {
    history: run,
    sessionId: session.id,
    async save() {
      if (run.loss !== undefined) return run.loss;
      if (run.isAnswered) await session.appendAll(run.records);
      return run.isAnswered;
    },
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
