import { join } from 'node:path';
import { memoryHistory } from '../agent/agent.ts';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { History } from '../core/history.ts';
import type { JsonObject } from '../core/json.ts';
import { type SessionSummary, SOURCE_WORDS } from '../core/session.ts';
import { emojiApart, shortId } from '../core/text/names.ts';
import { visible } from '../core/text/terminal.ts';
import { touchFile } from '../platform/files/write.ts';
import { deadline } from '../platform/runtime/clock.ts';
import { NOT_SAVED, runRecords, type Saving } from '../session/one-shot.ts';
import type { SavedHere } from '../session/open-session.ts';
import { type LocalStore, sessionStore } from '../session/store.ts';
import { retentionMs } from '../session/upkeep.ts';

/** The flags that say which session a run belongs to. */
export interface SessionOptions {
  readonly resume?: string;
  readonly continue?: boolean;
  readonly fork?: boolean;
  readonly sessionName?: string;
  readonly sessionId?: string;
  readonly noSession?: boolean;
  readonly demo?: boolean;
}

/** The flags that give a one-shot tools. */
export interface ToolChoice {
  readonly tools?: string;
  readonly mcpConfig?: unknown;
  readonly allowedMcpServerNames?: unknown;
}

/** The conversation of a run, and what becomes of it. */
export interface PromptHistory {
  readonly history: History;
  /** Of the session it is going to be saved as; undefined: it is not. */
  readonly sessionId?: string | undefined;
  /** Whether it is saved as it goes, and not only when it is over. */
  readonly isResumable?: boolean;
  /** What the person should know before the answer. */
  readonly notices: readonly string[];
  /** Saves what was said, if anything was. */
  save(): Promise<Saving>;
  /** Lets others have the session. */
  close(): Promise<void>;
}

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

/** The user's sessions, for a chat or another command; what could not be saved or read is told to `report`. */
export function openStore(
  app: Pick<App, 'homes' | 'clock' | 'version'>,
  report: (message: string) => void,
  by: 'chat' | 'prompt' = 'prompt',
): LocalStore {
  return sessionStore({ home: app.homes().gmn, clock: app.clock, version: app.version, report, by });
}

/** Where they are. */
export function sessionsDirectory(app: Pick<App, 'homes'>): string {
  return join(app.homes().gmn, 'sessions');
}

/** The setting `sessions.retention` as the time before which a session is old; undefined: none ever is. Throws AppError `config`. */
export async function expiry(app: App): Promise<number | undefined> {
  const ms = retentionMs((await app.settings()).retention);
  return ms === undefined ? undefined : app.clock.now() - ms;
}

/** Throws AppError `usage` if the flags about sessions contradict each other. */
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

/** A session as the JSON of the `sessions` commands shows it. */
export function sessionFields(summary: SessionSummary): JsonObject {
  const { createdAt, updatedAt, source, isUnanswered, ...rest } = summary;
  return {
    ...rest,
    from: SOURCE_WORDS[source],
    ...(isUnanswered ? { unanswered: true } : {}),
    createdAt: new Date(createdAt).toISOString(),
    updatedAt: new Date(updatedAt).toISOString(),
  };
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** How long ago, in words: `just now`, `5 min ago`, `3 h ago`, `2 days ago`; the day, if it is long ago. */
export function ago(then: number, now: number): string {
  const ms = now - then;
  // A clock that was set back is no reason to speak of the future.
  if (ms < MINUTE_MS) return 'just now';
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min ago`;
  if (ms < DAY_MS) return `${Math.floor(ms / HOUR_MS)} h ago`;
  const days = Math.floor(ms / DAY_MS);
  return days < 30 ? `${days} ${days === 1 ? 'day' : 'days'} ago` : new Date(then).toISOString().slice(0, 10);
}

/** The reference by which a session is spoken of: its name, else the beginning of its id. */
export function shortReference({ id, name }: Pick<SessionSummary, 'id' | 'name'>): string {
  return name ?? shortId(id);
}

/** A name or title as a list shows it: every character that cannot be seen, or moves others, as its escape; emoji as they are. */
export function shownName(text: string): string {
  return emojiApart(text)
    .map((piece, index) => (index % 2 === 0 ? visible(piece) : piece))
    .join('');
}

/** Somebody has their answer, and waits for the prompt of their shell. */
const LIMIT_MS = 2000;

/**
 * Removes the sessions that are kept no longer, and remembers that this was done today. What takes too long is left for
 * tomorrow, and so is everything when a signal of the system comes. Never throws.
 */
export async function tidy(app: App): Promise<void> {
  const limit = deadline(app.signal, LIMIT_MS, () => new AppError('limit', 'tidying took too long'));
  try {
    // First: others who come meanwhile need not do the same.
    await touchFile(join(sessionsDirectory(app), '.pruned'), app.clock.now());
    await openStore(app, () => {}).prune(await expiry(app), limit.signal);
  } catch {
    // Tomorrow is another day.
  } finally {
    limit.clear();
  }
}
