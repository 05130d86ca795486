import { dirname, resolve } from 'node:path';
import { AppError } from '../../core/error.ts';
import type { Clock } from '../../core/io.ts';
import { isCount, isObject, tryParseJson } from '../../core/json.ts';
import { plural } from '../../core/text/format.ts';
import { removeEmptyDirectory } from '../../platform/files/write.ts';
import { sha256 } from '../../platform/runtime/native.ts';
import { type JournalFiles, journalFiles } from './journal-store.ts';
import { type Journal, MAX_FILE_BYTES, type Workspace } from './workspace.ts';

export interface Change {
  readonly id: string;
  readonly run: string;
  /** The directories that run could write to, its working directory first; empty if unknown. Real paths. */
  readonly roots: readonly string[];
  readonly time: number;
  readonly path: string;
  readonly mode: number;
  /** How many steps of the path the change created, including the file. */
  readonly missing: number;
  /** A fingerprint; undefined if there was no file. */
  readonly before: string | undefined;
  readonly after: string;
  readonly isPassed: boolean;
}

/** `unchanged`: the file already had its old content. */
type UndoOutcome = 'restored' | 'removed' | 'unchanged';

export type UndoStore = ReturnType<typeof undoStore>;

/**
 * A store in that directory, usually `~/.gmn/undo`. The first change of a run prunes whole runs, oldest first: those
 * older than 30 days, and as many as it takes to store no more than `maxBytes`.
 */
export function undoStore(directory: string, clock: Clock, maxBytes = MAX_KEPT_BYTES) {
  const files = journalFiles(directory, clock);
  const recordNotes = (key: 'undone' | 'passed', changes: readonly Change[]): Promise<void> =>
    files.withLock(async () => {
      for (const { id } of changes) await files.append(JSON.stringify({ v: 1, [key]: id, time: clock.now() }));
    });
  return {
    createJournal(run: string, roots: readonly string[] = []): Journal {
      let count = 0;
      return {
        record: (path, bytes, mode, after, missing) =>
          files.withLock(async (isLocked) => {
            const before = bytes === undefined ? null : await files.put(bytes);
            count += 1;
            const made = { run, roots, time: clock.now(), path, mode, missing, before, after: sha256(after) };
            await files.append(JSON.stringify({ v: 1, id: `${run}.${count}`, ...made }));
            // A failed prune must not prevent this change; the next run prunes again.
            if (isLocked && count === 1) await pruneRuns(files, { nowMs: clock.now(), maxBytes }).catch(() => {});
          }),
      };
    },
    /** Changes that were not undone, oldest first. Throws AppError `config`. */
    listChanges: async (): Promise<readonly Change[]> => listUndoable((await files.readLines()).map(tryParseJson)),
    /** An error if lines of the journal cannot be read, so that changes may be missing; else undefined. */
    async findDamage(): Promise<AppError | undefined> {
      const lines = await files.readLines();
      const count = lines.filter((line) => !isReadableRecord(tryParseJson(line))).length;
      return count === 0 ? undefined : damageError(files.path, count);
    },
    /** The content before a change; undefined if there was no file. Throws AppError `config` if it is no longer stored. */
    readBefore: async ({ before }: Change): Promise<Uint8Array | undefined> =>
      before === undefined ? undefined : files.load(before),
    /**
     * Restores the content before the first of these changes of one file, through the fence, and removes directories
     * created for it that are empty. Throws AppError `usage` if the file was changed since, and `config` if the old
     * content is no longer stored; nothing is changed then.
     */
    async undo(changes: readonly [Change, ...Change[]], workspace: Workspace): Promise<UndoOutcome> {
      const outcome = await undoChanges(changes, workspace, files.load);
      for (const change of changes) await removeCreated(change, workspace);
      await recordNotes('undone', changes);
      return outcome;
    },
    /** Records that these could not be undone, so that older runs can be. Throws AppError `config`. */
    pass: (changes: readonly Change[]): Promise<void> =>
      recordNotes(
        'passed',
        changes.filter(({ isPassed }) => !isPassed),
      ),
  };
}

const MAX_KEPT_BYTES = 200_000_000;

function listUndoable(records: readonly unknown[]): readonly Change[] {
  const notes = records.filter(isObject);
  const undone = new Set(notes.map((note) => note.undone));
  const passed = new Set(notes.map((note) => note.passed));
  return records
    .flatMap((record) => tryParseChange(record) ?? [])
    .filter(({ id }) => !undone.has(id))
    .map((change) => ({ ...change, isPassed: passed.has(change.id) }));
}

function isReadableRecord(record: unknown): boolean {
  if (tryParseChange(record) !== undefined) return true;
  return isObject(record) && [record.undone, record.passed].some((id) => typeof id === 'string');
}

function damageError(path: string, count: number): AppError {
  return new AppError('config', `the undo journal ${path} is damaged: ${plural(count, 'line')} cannot be read`, {
    hint: 'A newer gmn may have written it. What files held before their changes is beside it, in blobs/.',
  });
}

/** Lines are removed before bytes: a crash in between wastes space, but loses no change that can be undone. */
async function pruneRuns(files: JournalFiles, limits: KeptLimits): Promise<void> {
  const lines = await files.readLines();
  const records = lines.map(tryParseJson);
  // A newer gmn wrote this; do not touch it.
  if (records.some((record) => isObject(record) && record.v !== 1)) return;
  const sizes = await files.readSizes();
  const changes = listUndoable(records);
  const runs = selectExpired(changes, sizes, limits);
  const kept = changes.filter(({ run }) => !runs.has(run));
  const ids = new Set(kept.map(({ id }) => id));
  const keptLines = lines.filter((_, index) => ids.has(String(findChangeId(records[index]))));
  if (keptLines.length < lines.length) await files.replaceLines(keptLines);
  const prints = new Set(kept.map(({ before }) => before));
  for (const print of sizes.keys()) if (!prints.has(print)) await files.drop(print);
}

function findChangeId(record: unknown): unknown {
  return isObject(record) ? (record.id ?? record.passed) : undefined;
}

async function undoChanges(
  changes: readonly [Change, ...Change[]],
  workspace: Workspace,
  load: (print: string) => Promise<Uint8Array>,
): Promise<UndoOutcome> {
  const [{ path, mode, before }] = changes;
  const now = await readFingerprint(path, workspace);
  // A change is recorded before it is made, and may not have happened.
  if (now === before) return 'unchanged';
  // Which of them happened last does not matter; any other content is somebody else's.
  const last = changes.findLast(({ after }) => after === now) ?? changes[0];
  const bytes = before === undefined ? undefined : await load(before);
  // If somebody removed the file, there is nothing to overwrite.
  await workspace.restore(path, { bytes, mode, expected: now && last.after });
  return bytes === undefined ? 'removed' : 'restored';
}

/**
 * The fingerprint of the current content; undefined if there is no file. For a file too large for tools, that of its
 * beginning.
 */
async function readFingerprint(path: string, workspace: Workspace): Promise<string | undefined> {
  if ((await workspace.place(path, 'write')).missing > 0) return undefined;
  const secret = await workspace.findSecretAt(path);
  // Permitted without asking: the content stays on this machine.
  if (secret !== undefined) workspace.permit(secret);
  const { file } = await workspace.open(path);
  try {
    return sha256(await file.read(0, Math.min(file.size, MAX_FILE_BYTES) + 1));
  } finally {
    await file.close();
  }
}

async function removeCreated({ path, missing }: Change, workspace: Workspace): Promise<void> {
  let directory = dirname(path);
  for (let steps = missing - 1; steps > 0; steps -= 1) {
    const place = await workspace.place(directory, 'write').catch(() => undefined);
    if (place?.path !== directory || !(await removeEmptyDirectory(directory))) return;
    directory = dirname(directory);
  }
}

/** Undefined unless gmn could have written it. Lines of the first versions have neither `missing` nor `roots`. */
function tryParseChange(record: unknown): Change | undefined {
  if (!isObject(record) || record.v !== 1) return undefined;
  const { id, run, time, path, mode, missing = 0, roots = [], before, after } = record;
  if (typeof id !== 'string' || typeof run !== 'string' || !isPlainPath(path)) return undefined;
  if (!isCount(time) || !isCount(missing) || !isCount(mode) || mode > MAX_MODE) return undefined;
  if (!Array.isArray(roots) || !roots.every(isPlainPath)) return undefined;
  if (!isFingerprint(after) || !(before === null || isFingerprint(before))) return undefined;
  return { id, run, time, path, mode, missing, roots, after, before: before ?? undefined, isPassed: false };
}

/** Files that run with the rights of their owner or group are never changed, so none is restored. */
const MAX_MODE = 0o1777;

function isPlainPath(value: unknown): value is string {
  return typeof value === 'string' && value === resolve(value) && !value.includes('\0');
}

function isFingerprint(value: unknown): value is string {
  return typeof value === 'string' && /^[\da-f]{64}$/.test(value);
}

interface KeptLimits {
  readonly nowMs: number;
  readonly maxBytes: number;
}

const MAX_AGE_MS = 30 * 86_400_000;

/**
 * The runs to prune: those whose last change is too old, and the oldest of the others while too many bytes are stored.
 * The newest run always stays, and a run is never pruned in part: half an undo is a state that never existed. `sizes`
 * maps a fingerprint to its stored bytes.
 */
function selectExpired(
  changes: readonly Change[],
  sizes: ReadonlyMap<string, number>,
  { nowMs, maxBytes }: KeptLimits,
): ReadonlySet<string> {
  // Deleting first moves the run to the end of the map, so that runs are ordered by their last change.
  const lastTimes = new Map<string, number>();
  for (const { run, time } of changes) {
    lastTimes.delete(run);
    lastTimes.set(run, time);
  }
  const newestFirst = [...lastTimes].reverse();
  const expired = new Set<string>();
  const counted = new Set<string>();
  let bytes = 0;
  for (const [index, [run, time]] of newestFirst.entries()) {
    for (const { before } of changes.filter((change) => change.run === run)) {
      if (before === undefined || counted.has(before)) continue;
      counted.add(before);
      bytes += sizes.get(before) ?? 0;
    }
    if (index > 0 && (bytes > maxBytes || nowMs - time > MAX_AGE_MS)) expired.add(run);
  }
  return expired;
}

export type UndoResult = { readonly path: string } & (
  | { readonly outcome: UndoOutcome }
  | { readonly problem: AppError }
);

/**
 * Undoes these changes file by file, the last changed first. A file that cannot be restored is left alone, reported,
 * and skipped next time. Throws AppError `config`.
 */
export async function undoAll(
  changes: readonly Change[],
  store: UndoStore,
  workspace: Workspace,
): Promise<readonly UndoResult[]> {
  const results: UndoResult[] = [];
  for (const path of new Set(changes.map((change) => change.path).reverse())) {
    const [first, ...others] = changes.filter((change) => change.path === path);
    if (first === undefined) continue;
    try {
      results.push({ path, outcome: await store.undo([first, ...others], workspace) });
    } catch (thrown) {
      results.push({ path, problem: AppError.from(thrown) });
      await store.pass([first, ...others]);
    }
  }
  return results;
}
