import { basename, join } from 'node:path';
import { AppError } from '../core/error.ts';
import type { Clock } from '../core/io.ts';
import type { SessionBeginning, SessionStore, SessionSummary } from '../core/session.ts';
import { openAppendFile } from '../platform/append-file.ts';
import { removeFiles } from '../platform/atomic-file.ts';
import { type BlobFiles, blobFiles } from '../platform/blob-files.ts';
import { fileNames } from '../platform/line-file.ts';
import { acquireLock, type Lock } from '../platform/lock.ts';
import { realPath } from '../platform/real-path.ts';
import { uuid } from '../platform/uuid.ts';
import { glanceAt, listSessions, sessionPlaces } from './directory.ts';
import { type Loaded, loadSession } from './load.ts';
import { openSession, type SavedHere } from './open-session.ts';
import { lineText } from './record.ts';
import { checkedName, findSession, newestSession } from './reference.ts';
import { expiredSessions, sweepBlobs } from './retention.ts';
import { type FilePlace, type Origin, sessionFile } from './session-file.ts';
import { troubleOf } from './trouble.ts';
import { type Durability, sessionWriter } from './writer.ts';

export interface StoreOptions {
  /** gmn's own directory. */
  readonly home: string;
  readonly clock: Clock;
  /** Of gmn. */
  readonly version: string;
  /** Words for the person: what could not be saved or read. */
  readonly report: (message: string) => void;
  readonly newId?: () => string;
  /** What a record must survive before anything is built upon it: a loss of power, unless given, or just this process. */
  readonly durability?: Durability;
}

/** The store, with what only its own commands need. */
export interface LocalStore extends SessionStore {
  create(beginning: SessionBeginning): Promise<SavedHere>;
  resume(summary: SessionSummary, cwd: string): Promise<SavedHere>;
  /**
   * Removes the sessions without a name that were not written to since `before` and that nobody has open, media that no
   * session names any more, and what dead processes left behind. Says which. Never throws.
   */
  prune(before: number): Promise<readonly SessionSummary[]>;
}

/** The sessions in `<home>/sessions`, their media in `<home>/blobs`. */
export function sessionStore(options: StoreOptions): LocalStore {
  const directory = join(options.home, 'sessions');
  const store: Store = {
    ...options,
    newId: options.newId ?? uuid,
    directory,
    blobs: blobFiles(join(options.home, 'blobs')),
  };
  return {
    list: async () => listSessions(directory),
    find: async (reference) => findSession(directory, reference),
    newestIn: async (cwd) => newestSession(directory, realPath(cwd) ?? cwd),
    async read(summary) {
      const { exchanges, notices } = await loadSession(summary.file, store.blobs);
      return { summary, records: exchanges.items, notices };
    },
    create: (beginning) => create(store, beginning),
    resume: (summary, cwd) => resume(store, summary, realPath(cwd) ?? cwd),
    rename: (summary, name) => rename(store, summary, name),
    remove: (summary) => remove(store, summary),
    prune: (before) => prune(store, before),
  };
}

interface Store extends FilePlace {
  readonly durability?: Durability;
  readonly blobs: BlobFiles;
}

async function create(store: Store, beginning: SessionBeginning): Promise<SavedHere> {
  const { directory } = store;
  const id = (beginning.id ?? store.newId()).toLowerCase();
  if (!/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)) {
    throw new AppError('usage', `"${id}" is not a UUID`, { hint: 'Give it a name instead: --session-name' });
  }
  const name = beginning.name === undefined ? undefined : checkedName(directory, beginning.name, id);
  const lock = await lockOf(store, id);
  // One that was just made up is nobody's, and looking through thousands of files would cost every answer.
  const isKnown = beginning.id !== undefined && sessionPlaces(directory).some((place) => place.id === id);
  if (lock.isTaken || isKnown) {
    await lock.release();
    throw new AppError('usage', `there is a session with the id ${id}`, { hint: `To go on with it: -r ${id}` });
  }
  const cwd = realPath(beginning.cwd) ?? beginning.cwd;
  return open(store, { kind: 'new', id, name, by: beginning.by, cwd }, { lock });
}

async function resume(store: Store, summary: SessionSummary, cwd: string): Promise<SavedHere> {
  const lock = await lockOf(store, summary.id);
  try {
    const loaded = await loadSession(summary.file, store.blobs);
    for (const notice of loaded.notices) store.report(notice);
    if (summary.cwd !== cwd) store.report(`this session was begun in ${summary.cwd}`);
    if (!lock.isTaken) {
      const { name } = loaded.standing;
      return open(store, { kind: 'old', id: summary.id, name, file: summary.file }, { lock, loaded });
    }
    const id = store.newId();
    store.report(`this session is open elsewhere; going on with a copy, ${id.slice(0, 8)}`);
    const origin = { kind: 'copy', id, name: undefined, source: summary.file, end: loaded.bytes, cwd } as const;
    return open(store, origin, { lock: await lockOf(store, id), loaded });
  } catch (thrown) {
    await lock.release();
    throw thrown;
  }
}

function open(
  store: Store,
  origin: Origin,
  { lock, loaded }: { readonly lock: Lock; readonly loaded?: Loaded },
): SavedHere {
  const { clock, directory, report, blobs, durability = 'synced' } = store;
  const file = sessionFile(store, origin);
  return openSession({
    clock,
    id: () => file.id,
    name: origin.name,
    ...(loaded === undefined ? {} : { earlier: loaded }),
    checkName: async (name) => checkedName(directory, name, file.id),
    release: () => lock.release(),
    durability,
    writer: sessionWriter({ file, report, blobs }),
  });
}

async function rename(store: Store, summary: SessionSummary, name: string): Promise<void> {
  const kept = checkedName(store.directory, name, summary.id);
  await exclusively(store, summary, async () => {
    const glance = glanceAt(summary);
    if (glance === undefined) throw new AppError('usage', `there is no session ${summary.id} any more`, LIST);
    const standing = { turn: 0, ...glance.last?.standing, name: kept };
    const file = await openAppendFile(summary.file, store.clock.now());
    const line = {
      seq: (glance.last?.seq ?? 0) + 1,
      at: store.clock.now(),
      standing,
      entry: { kind: 'name' },
    } as const;
    await file.append(lineText(line)).finally(() => file.close());
  });
}

async function remove(store: Store, summary: SessionSummary): Promise<void> {
  const name = basename(summary.file);
  await exclusively(store, summary, async () => {
    await removeFiles(store.directory, (found) => found === name || found.startsWith(`${name}.torn-`));
  });
}

async function prune(store: Store, before: number): Promise<readonly SessionSummary[]> {
  const removed: SessionSummary[] = [];
  for (const summary of expiredSessions(store.directory, before)) {
    // One that is open, or not ours to remove, stays.
    const isGone = await remove(store, summary).then(
      () => true,
      () => false,
    );
    if (isGone) removed.push(summary);
  }
  for (const name of fileNames(store.directory)) {
    if (name.endsWith('.lock')) await (await lockOf(store, name.slice(0, -'.lock'.length))).release();
  }
  await sweepBlobs(store.directory, store.blobs, store.clock.now()).catch(() => 0);
  return removed;
}

const LIST = { hint: 'Run: gmn sessions list --all' } as const;

/** Does something to a session that nobody has open. Throws AppError `usage` if somebody has, `config` if it cannot be done. */
async function exclusively(store: Store, { id }: SessionSummary, work: () => Promise<void>): Promise<void> {
  const lock = await lockOf(store, id);
  try {
    if (lock.isTaken) {
      throw new AppError('usage', `the session ${id.slice(0, 8)} is open elsewhere`, { hint: 'Close it there first.' });
    }
    await work();
  } catch (thrown) {
    if (thrown instanceof AppError) throw thrown;
    throw new AppError('config', `cannot change the session ${id.slice(0, 8)}: ${troubleOf(thrown)}`, {
      cause: thrown,
      hint: 'Check the free space and the permissions: gmn sessions path',
    });
  } finally {
    await lock.release();
  }
}

/** Never waits: whoever has a session open may have it for hours, and keeps it even while it is stopped (Ctrl-Z). */
async function lockOf({ directory, clock }: Store, id: string): Promise<Lock> {
  const lock = await acquireLock(join(directory, `${id}.lock`), {
    clock,
    signal: new AbortController().signal,
    patienceMs: 0,
    isDone: async () => false,
    takesFrom: 'gone',
  });
  return lock ?? { isHeld: false, isTaken: false, release: async () => {} };
}
