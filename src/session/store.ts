import { join } from 'node:path';
import type { Clock } from '../core/io.ts';
import type { NewSession, SessionSource, SessionStore, SessionSummary } from '../core/session.ts';
import { shortenId } from '../core/text/names.ts';
import { createBlobStore } from '../platform/files/blobs.ts';
import { acquireLock, type Lock } from '../platform/files/lock.ts';
import { realPath } from '../platform/files/path.ts';
import { randomId } from '../platform/runtime/random-id.ts';
import {
  createReservation,
  findById,
  findSession,
  idTakenError,
  isIdTaken,
  listSessions,
  type NameReservation,
  parseNewId,
  requireNamedSession,
  requireNewestSession,
} from './find.ts';
import { type LoadedSession, loadSession } from './load.ts';
import { createSession, type LocalSession } from './open-session.ts';
import type { PruneOptions } from './prune.ts';
import { type Durability, type Origin, type StoreContext, sessionFile, sessionWriter } from './session-file.ts';
import type { TrashedSession } from './trash.ts';

export interface StoreOptions {
  readonly home: string;
  readonly clock: Clock;
  readonly version: string;
  readonly report: (message: string) => void;
  readonly newId?: () => string;
  /** What opens the sessions; `prompt` unless given. */
  readonly by?: SessionSource;
  /** `synced` unless given. */
  readonly durability?: Durability;
}

export interface LocalStore extends SessionStore {
  create(beginning: NewSession): Promise<LocalSession>;
  resume(summary: SessionSummary, cwd: string): Promise<LocalSession>;
  fork(summary: SessionSummary, beginning: Pick<NewSession, 'cwd' | 'name'>): Promise<LocalSession>;
  /** For programs: names, numbers and `last` are for people. */
  findById(id: string): Promise<SessionSummary | undefined>;
  /**
   * Like `find`, but only what the reference names beyond doubt, seen from this directory; `withTrash`: also one that
   * was deleted, which `remove` takes, too. Throws AppError `usage`.
   */
  findNamed(reference: string, cwd: string, options?: { readonly withTrash?: boolean }): Promise<SessionSummary>;
  /** Moves it to the trash. */
  discard(summary: SessionSummary): Promise<void>;
  /** What was deleted last comes first. */
  listTrash(): Promise<readonly TrashedSession[]>;
  findTrashed(reference: string): Promise<TrashedSession>;
  /** False if it comes back without its name, which another session has by now. Throws AppError `usage`. */
  restore(trashed: TrashedSession): Promise<boolean>;
  /** Those without a name that are not open, old trash, blobs that no session uses, leftovers. Never throws. */
  prune(before: number | undefined, signal: AbortSignal, options?: PruneOptions): Promise<readonly SessionSummary[]>;
}

export function sessionStore(options: StoreOptions): LocalStore {
  const directory = join(options.home, 'sessions');
  const trash = join(options.home, 'trash');
  const store: Store = {
    ...options,
    trash,
    newId: options.newId ?? randomId,
    by: options.by ?? 'prompt',
    directory,
    blobs: createBlobStore(join(options.home, 'blobs')),
    lock: (id, maxWaitMs = 0) => acquireSessionLock(join(directory, `${id}.lock`), options.clock, maxWaitMs),
  };
  return {
    list: async () => listSessions(directory),
    findById: async (id) => findById(directory, id),
    find: async (reference) => findSession(directory, reference, store.by),
    newestIn: async (cwd) => requireNewestSession(directory, realPath(cwd) ?? cwd, store.by),
    async read(summary) {
      const { turns, notices } = await loadSession(summary.file, store.blobs);
      return { summary, records: turns.items, compactions: turns.compactions, notices };
    },
    create: (beginning) => create(store, beginning),
    resume: (summary, cwd) => resume(store, summary, realPath(cwd) ?? cwd),
    fork: (summary, beginning) => fork(store, summary, beginning),
    rename: async (summary, name) => (await import('./change.ts')).renameSession(store, summary, name),
    remove: async (summary) => (await import('./prune.ts')).removeSession(store, summary),
    async findNamed(reference, cwd, { withTrash } = {}) {
      const deleted = withTrash ? await (await import('./trash.ts')).listTrash(trash) : [];
      const trashed = deleted.map(({ summary }) => summary);
      return requireNamedSession(directory, reference, { asker: store.by, cwd: realPath(cwd) ?? cwd, trashed });
    },
    discard: async (summary) => (await import('./trash.ts')).trashSession(store, summary),
    listTrash: async () => (await import('./trash.ts')).listTrash(trash),
    findTrashed: async (reference) => (await import('./trash.ts')).findTrashed(trash, reference),
    restore: async (trashed) => (await import('./trash.ts')).restoreSession(store, trashed),
    prune: async (before, signal, pruning) =>
      (await import('./prune.ts')).pruneSessions(store, before, { ...pruning, signal }),
  };
}

interface Store extends StoreContext {
  readonly by: SessionSource;
  readonly durability?: Durability;
}

async function create(store: Store, beginning: NewSession): Promise<LocalSession> {
  const { directory } = store;
  const id = beginning.id === undefined ? store.newId() : parseNewId(directory, beginning.id);
  const reservation = createReservation(store);
  const name = beginning.name === undefined ? undefined : await reservation.reserve(beginning.name, id);
  // A generated id is unique; checking it against thousands of files would slow down every answer.
  const lock = beginning.id === undefined ? undefined : await store.lock(id);
  if (lock !== undefined && (lock.isTaken || isIdTaken(directory, id))) {
    await lock.release();
    await reservation.release();
    throw idTakenError(id);
  }
  const cwd = realPath(beginning.cwd) ?? beginning.cwd;
  const { by, at } = beginning;
  return openOrigin(store, { kind: 'new', id, name, lock, by, cwd, at }, { reservation });
}

const LOCK_WAIT_MS = 200;

async function resume(store: Store, summary: SessionSummary, cwd: string): Promise<LocalSession> {
  const { id, file } = summary;
  const lock = await store.lock(id, LOCK_WAIT_MS);
  try {
    const loaded = await loadSession(file, store.blobs);
    for (const notice of loaded.notices) store.report(notice);
    if (summary.cwd !== '' && summary.cwd !== cwd) store.report(`this session was started in ${summary.cwd}`);
    const { state, bytes: end } = loaded;
    if (!lock.isTaken)
      return openOrigin(store, { kind: 'old', id, name: state.name, lock, file, end }, { earlier: loaded });
    const next = store.newId();
    store.report(`this session is open elsewhere; continuing in a copy, ${shortenId(next)}`);
    const own = { id: next, name: undefined, lock: await store.lock(next) };
    return openOrigin(store, { kind: 'copy', ...own, source: file, end, cwd }, { earlier: loaded });
  } catch (thrown) {
    await lock.release();
    throw thrown;
  }
}

async function fork(
  store: Store,
  summary: SessionSummary,
  { cwd, name: wanted }: Pick<NewSession, 'cwd' | 'name'>,
): Promise<LocalSession> {
  const { file: source } = summary;
  const earlier = await loadSession(source, store.blobs);
  for (const notice of earlier.notices) store.report(notice);
  const id = store.newId();
  const reservation = createReservation(store);
  const name = wanted === undefined ? undefined : await reservation.reserve(wanted, id);
  const own = { id, name, lock: await store.lock(id), cwd: realPath(cwd) ?? cwd };
  return openOrigin(store, { kind: 'copy', ...own, source, end: earlier.bytes }, { earlier, reservation });
}

interface OpenOptions {
  readonly earlier?: LoadedSession;
  readonly reservation?: NameReservation;
}

function openOrigin(
  store: Store,
  origin: Origin,
  { earlier, reservation = createReservation(store) }: OpenOptions,
): LocalSession {
  const { clock, report, durability = 'synced' } = store;
  const file = sessionFile(store, origin);
  return createSession({
    clock,
    file,
    earlier,
    reservation,
    blobs: store.blobs,
    by: origin.kind === 'new' ? origin.by : store.by,
    durability,
    writer: sessionWriter({ file, report }),
  });
}

/** A session keeps its lock while the process is stopped (Ctrl-Z): only dead owners lose it. */
async function acquireSessionLock(path: string, clock: Clock, maxWaitMs: number): Promise<Lock> {
  const { signal } = new AbortController();
  const lock = await acquireLock(path, { clock, signal, maxWaitMs, isDone: async () => false, takesFrom: 'gone' });
  return lock ?? { isHeld: false, isTaken: false, release: async () => {} };
}
