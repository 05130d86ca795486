import { noHomeError } from '../../config/home.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import type { Notify } from '../../core/event.ts';
import type { KeptSetup, SessionSummary } from '../../core/session.ts';
import { createRunRecords } from '../../session/one-shot.ts';
import type { LocalSession } from '../../session/open-session.ts';
import { type LocalStore, type StoreOptions, sessionStore } from '../../session/store.ts';
import { createLazyRedaction } from '../agent.ts';
import {
  type Conversation,
  createUnsavedConversation,
  type OpenedConversation,
  type SessionOptions,
} from './conversation.ts';
import { mergeSetup, toKeptSetup } from './kept-setup.ts';

/** Opens a session that is continued, has a name or id, or is saved after every step; it stays locked until it is closed. */
export async function openSavedConversation(
  options: SessionOptions,
  app: App,
  { pace, notify }: { readonly pace: 'as-it-goes' | 'when-over'; readonly notify: Notify },
): Promise<OpenedConversation> {
  checkSessionFlags(options);
  // Without a home directory a new session is answered, but not saved; the settings have a notice for that.
  if (app.homes().isMissing && !isContinued(options)) return createUnsavedConversation();
  const notices: string[] = [];
  const report = (message: string): void => void notices.push(message);
  // As for a new one-shot: after a power failure, a run without tools can be repeated.
  const durability = pace === 'when-over' ? 'written' : 'synced';
  const { session, setup } = await openSession(options, app, { report, durability });
  for (const notice of notices.splice(0)) notify(notice);
  if (options.noSession) {
    await session.close();
    return { ...createUnsavedConversation({ earlier: session.contents, compacted: session.compactions }), setup };
  }
  const saving = pace === 'as-it-goes' ? createStepSaver(session) : createEndSaver(session, app);
  return {
    ...saving,
    get sessionId() {
      return saving.sessionId;
    },
    setup,
    keepSetup: (asked) => session.choose(mergeSetup(session, asked)),
    async save() {
      const isKept = await saving.save();
      if (typeof isKept === 'string') return { notices: [isKept] };
      return { sessionId: isKept && session.isSaved ? session.id : undefined, notices: notices.splice(0) };
    },
    close: () => session.close(),
  };
}

interface Saver extends Pick<Conversation, 'history' | 'sessionId' | 'isResumable'> {
  /** Whether there was anything to save; or a notice that says why it could not be saved. */
  save(): Promise<boolean | string>;
}

/** As in a chat, every step is written before the next, and a prompt without a reply is removed. For any number of turns. */
export function createStepSaver(session: LocalSession): Saver {
  let before = session.contents.length;
  return {
    history: session,
    get sessionId() {
      return session.isSaved ? session.id : undefined;
    },
    isResumable: true,
    async save() {
      const steps = session.contents.length - before;
      if (steps === 1) await session.retractPrompt();
      before = session.contents.length;
      return steps > 0;
    },
  };
}

function createEndSaver(session: LocalSession, { clock }: App): Saver {
  const run = createRunRecords(clock, session);
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

export function isContinued({ continue: newest, resume }: SessionOptions): boolean {
  return newest === true || resume !== undefined;
}

export async function openSession(
  options: SessionOptions,
  app: App,
  { report, durability }: Required<Pick<StoreOptions, 'report' | 'durability'>>,
): Promise<{ readonly session: LocalSession; readonly setup?: KeptSetup }> {
  const store = openStore(app, report, { durability });
  const { cwd } = app;
  const { sessionId: id } = options;
  const name = await createLazyRedaction(app).redact(options.sessionName);
  if (isContinued(options)) {
    const summary = await findContinued(options, app, store);
    const session = options.fork ? await store.fork(summary, { cwd, name }) : await store.resume(summary, cwd);
    return { session, setup: toKeptSetup(session, summary) };
  }
  const session = await store.create({
    cwd,
    by: 'prompt',
    name,
    id,
  });
  return { session };
}

/** The session that `-r` names, else the newest of the working directory. Throws AppError `usage` if there is none. */
export async function findContinued(
  { resume, demo }: SessionOptions,
  { cwd }: Pick<App, 'cwd'>,
  store: Pick<LocalStore, 'newestIn' | 'find' | 'list'>,
): Promise<SessionSummary> {
  try {
    return await (resume === undefined ? store.newestIn(cwd) : store.find(resume));
  } catch (thrown) {
    const isFirst = demo && thrown instanceof AppError && thrown.fault === 'usage' && (await store.list()).length === 0;
    throw isFirst ? thrown.with({ hint: DEMO_HINT }) : thrown;
  }
}

const DEMO_HINT = 'With --demo a session is saved only if you name it: gmn --demo --session-name trip "…"';

/** For a sub-agent: its own, beside that of the turn that asks it. */
export function openAgentSession(app: App, report: (message: string) => void): Promise<LocalSession> {
  const by = 'agent';
  return openStore(app, report, { by, durability: 'written' }).create({ cwd: app.cwd, by });
}

/** The user's sessions. Without a home directory, whatever is asked of them throws AppError `config`. */
export function openStore(
  app: Pick<App, 'homes' | 'clock' | 'version'>,
  report: (message: string) => void,
  { by = 'prompt', durability = 'synced' }: Pick<StoreOptions, 'by' | 'durability'> = {},
): LocalStore {
  const { gmn: home, isMissing } = app.homes();
  if (isMissing) return createNoStore();
  return sessionStore({ home, clock: app.clock, version: app.version, report, by, durability });
}

function createNoStore(): LocalStore {
  const refuse = async (): Promise<never> => {
    throw noHomeError('no session is saved');
  };
  return {
    ...{ list: refuse, find: refuse, newestIn: refuse, read: refuse, create: refuse, resume: refuse },
    ...{ fork: refuse, rename: refuse, remove: refuse, prune: async () => [] },
    ...{
      findById: refuse,
      findNamed: refuse,
      discard: refuse,
      listTrash: refuse,
      findTrashed: refuse,
      restore: refuse,
    },
  };
}

export function checkSessionFlags(options: SessionOptions): void {
  if (options.fork) checkFork(options);
  const given = [
    options.continue ? '-c' : '',
    options.resume === undefined ? '' : '-r',
    options.sessionName === undefined || options.fork ? '' : '--session-name',
    options.sessionId === undefined ? '' : '--session-id',
  ].filter((flag) => flag !== '');
  const [first, second] = given;
  const isNew = first?.startsWith('--');
  if (second !== undefined && !isNew) {
    const hint = second === '-r' ? 'Use one of them.' : 'That is for a new session. To rename one: gmn sessions rename';
    throw new AppError('usage', `${first} cannot be combined with ${second}`, { hint });
  }
  if (isNew && options.noSession) {
    throw new AppError('usage', `${first} cannot be combined with --no-session`, {
      hint: 'Leave one of them out; GMN_NO_SESSION counts as --no-session.',
    });
  }
}

function checkFork(options: SessionOptions): void {
  if (!options.continue && options.resume === undefined) {
    throw new AppError('usage', '--fork needs -c or -r', { hint: 'Example: gmn -c --fork "…"' });
  }
  if (options.noSession) {
    throw new AppError('usage', '--fork cannot be combined with --no-session', {
      hint: 'Leave one of them out; GMN_NO_SESSION counts as --no-session.',
    });
  }
}
