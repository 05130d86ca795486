import { dirname } from 'node:path';
import { AppError } from '../../core/error.ts';
import type { Clock } from '../../core/io.ts';
import { isObject, parseJson } from '../../core/json.ts';
import { counted } from '../../core/text/format.ts';
import { fingerprint } from '../../platform/files/held-file.ts';
import { type JournalFiles, journalFiles, removeEmptyDirectory } from './journal-store.ts';
import { type Journal, MAX_FILE_BYTES, type Workspace } from './workspace.ts';

/** One change a tool made to a file, or was about to make. */
export interface Change {
  readonly id: string;
  /** Which run of gmn made it. */
  readonly run: string;
  /** Where that run could write, its working directory first; none if it was not said. Free of links. */
  readonly roots: readonly string[];
  /** Milliseconds since the epoch. */
  readonly time: number;
  /** Free of links. */
  readonly path: string;
  readonly mode: number;
  /** How many steps of the path were made for it, the file among them. */
  readonly missing: number;
  /** The fingerprint of what was there; undefined: nothing. */
  readonly before: string | undefined;
  /** The fingerprint of what it was changed to. */
  readonly after: string;
  /** Whether somebody tried to take it back and could not. */
  readonly isPassed: boolean;
}

/** What taking changes back did to the file; `unchanged`: it was as before already. */
type Undoing = 'restored' | 'removed' | 'unchanged';

/** The changes of all runs, and what was there before. */
export interface UndoStore {
  /** The journal of one run, whose id nobody else has, and the directories it may write to. */
  journal(run: string, roots?: readonly string[]): Journal;
  /** Changes that were not taken back, oldest first. Throws AppError `config`. */
  changes(): Promise<readonly Change[]>;
  /** Why there may be changes that cannot be seen: the journal is damaged. Undefined: all of it can be read. */
  damage(): Promise<AppError | undefined>;
  /** What was there before a change; undefined: nothing. Throws AppError `config` if it is not kept any more. */
  before(change: Change): Promise<Uint8Array | undefined>;
  /**
   * Puts back what was there before the first of these changes of one file, through the fence; directories made for it
   * go too, if nothing else is in them. Throws AppError `usage` if the file was changed since, and `config` if
   * what was there is not kept any more; nothing is changed then.
   */
  takeBack(changes: readonly [Change, ...Change[]], workspace: Workspace): Promise<Undoing>;
  /** Remembers that these could not be taken back, so that older runs can be. Throws AppError `config`. */
  pass(changes: readonly Change[]): Promise<void>;
}

/**
 * A store in that directory, usually `~/.gmn/undo`. With the first change of a run, whole runs are forgotten, the oldest
 * first: those of more than 30 days ago, and as many as it takes to keep no more than `maxBytes`.
 */
export function undoStore(directory: string, clock: Clock, maxBytes = MAX_KEPT_BYTES): UndoStore {
  const files = journalFiles(directory, clock);
  const note = (key: 'undone' | 'passed', changes: readonly Change[]): Promise<void> =>
    files.alone(async () => {
      for (const { id } of changes) await files.append(JSON.stringify({ v: 1, [key]: id, time: clock.now() }));
    });
  return {
    journal: (run, roots = []) => {
      let count = 0;
      return {
        before: (path, bytes, mode, after, missing) =>
          files.alone(async (isAlone) => {
            const before = bytes === undefined ? null : await files.keep(bytes);
            count += 1;
            const made = { run, roots, time: clock.now(), path, mode, missing, before, after: fingerprint(after) };
            await files.append(JSON.stringify({ v: 1, id: `${run}.${count}`, ...made }));
            // What cannot be tidied now is tidied by the next run; it must not be in the way of this change.
            if (isAlone && count === 1) await prune(files, { nowMs: clock.now(), maxBytes }).catch(() => {});
          }),
      };
    },
    changes: async () => standing((await files.lines()).map(parseJson)),
    damage: async () => {
      const lines = await files.lines();
      const count = lines.filter((line) => !isUnderstood(parseJson(line))).length;
      return count === 0 ? undefined : damaged(files.path, count);
    },
    before: async ({ before }) => (before === undefined ? undefined : files.fetch(before)),
    takeBack: async (changes, workspace) => {
      const undoing = await takenBack(changes, workspace, files.fetch);
      for (const change of changes) await removeMade(change, workspace);
      await note('undone', changes);
      return undoing;
    },
    pass: (changes) =>
      note(
        'passed',
        changes.filter(({ isPassed }) => !isPassed),
      ),
  };
}

const MAX_KEPT_BYTES = 200_000_000;

/** The changes that were not taken back. */
function standing(records: readonly unknown[]): readonly Change[] {
  const undone = new Set(records.map((record) => parseNote(record, 'undone')));
  const passed = new Set(records.map((record) => parseNote(record, 'passed')));
  return records
    .flatMap((record) => parseChange(record) ?? [])
    .filter(({ id }) => !undone.has(id))
    .map((change) => ({ ...change, isPassed: passed.has(change.id) }));
}

function isUnderstood(record: unknown): boolean {
  const notes = [parseNote(record, 'undone'), parseNote(record, 'passed')];
  return parseChange(record) !== undefined || notes.some((id) => typeof id === 'string');
}

function damaged(path: string, count: number): AppError {
  return new AppError('config', `the undo journal ${path} is damaged: ${counted(count, 'line')} cannot be read`, {
    hint: 'A newer gmn may have written it. What files held before their changes is beside it, in blobs/.',
  });
}

/** The lines go before the bytes: a crash in between costs room, no change that can be taken back. */
async function prune(
  files: JournalFiles,
  { nowMs, maxBytes }: { readonly nowMs: number; readonly maxBytes: number },
): Promise<void> {
  const lines = await files.lines();
  const records = lines.map(parseJson);
  // What a newer gmn has written is not for us to judge.
  if (records.some((record) => isObject(record) && record.v !== 1)) return;
  const sizes = await files.sizes();
  const changes = standing(records);
  const runs = forgotten(changes, sizes, { nowMs, maxBytes });
  const kept = changes.filter(({ run }) => !runs.has(run));
  const ids = new Set(kept.map(({ id }) => id));
  const keptLines = lines.filter((_, index) => ids.has(String(idOf(records[index]))));
  if (keptLines.length < lines.length) await files.replaceLines(keptLines);
  const prints = new Set(kept.map(({ before }) => before));
  for (const print of sizes.keys()) if (!prints.has(print)) await files.drop(print);
}

/** Which change a line is, or is about. */
function idOf(record: unknown): unknown {
  return isObject(record) ? (record.id ?? record.passed) : undefined;
}

async function takenBack(
  changes: readonly [Change, ...Change[]],
  workspace: Workspace,
  kept: (print: string) => Promise<Uint8Array>,
): Promise<Undoing> {
  const [{ path, mode, before }] = changes;
  const now = await printOf(path, workspace);
  // A change is noted before it is made, and may not have come about.
  if (now === before) return 'unchanged';
  // Which of them came about last does not matter; any other content is somebody else's.
  const last = changes.findLast(({ after }) => after === now) ?? changes[0];
  const bytes = before === undefined ? undefined : await kept(before);
  // A file that somebody has removed is in nobody's way.
  await workspace.restore(path, { bytes, mode, expected: now && last.after });
  return bytes === undefined ? 'removed' : 'restored';
}

/** The fingerprint of what is there now; undefined: nothing. Of a file too large for tools, that of its beginning. */
async function printOf(path: string, workspace: Workspace): Promise<string | undefined> {
  if ((await workspace.place(path, 'write')).missing > 0) return undefined;
  const secret = await workspace.secretAt(path);
  // It stays on this machine.
  if (secret !== undefined) workspace.permit(secret);
  const { file } = await workspace.open(path);
  try {
    return fingerprint(await file.read(0, Math.min(file.size, MAX_FILE_BYTES) + 1));
  } finally {
    await file.close();
  }
}

async function removeMade({ path, missing }: Change, workspace: Workspace): Promise<void> {
  let directory = dirname(path);
  for (let steps = missing - 1; steps > 0; steps -= 1) {
    const place = await workspace.place(directory, 'write').catch(() => undefined);
    if (place?.path !== directory || !(await removeEmptyDirectory(directory))) return;
    directory = dirname(directory);
  }
}

function parseNote(record: unknown, key: 'undone' | 'passed'): unknown {
  return isObject(record) ? record[key] : undefined;
}

/** Undefined for what is damaged, or of another version. */
function parseChange(record: unknown): Change | undefined {
  if (!isObject(record) || record.v !== 1) return undefined;
  const { id, run, time, path, mode, before, after } = record;
  const isWhole =
    typeof id === 'string' &&
    typeof run === 'string' &&
    typeof time === 'number' &&
    typeof path === 'string' &&
    typeof mode === 'number' &&
    typeof after === 'string' &&
    /^[\da-f]{64}$/.test(after);
  if (!isWhole || (before !== null && !(typeof before === 'string' && /^[\da-f]{64}$/.test(before)))) return undefined;
  const { missing, roots } = record;
  return {
    ...{ id, run, time, path, mode, after, before: before ?? undefined, isPassed: false },
    missing: typeof missing === 'number' ? missing : 0,
    roots: Array.isArray(roots) ? roots.filter((root) => typeof root === 'string') : [],
  };
}

/** What of a change says how long it is kept. */
interface KeptChange {
  readonly run: string;
  /** Milliseconds since the epoch. */
  readonly time: number;
  /** The fingerprint of what was there; undefined: nothing. */
  readonly before: string | undefined;
}

interface KeptLimits {
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
  readonly maxBytes: number;
}

const MAX_AGE_MS = 30 * 86_400_000;

/**
 * The runs whose changes are not kept any longer: those whose last change is too old, and the oldest of the others while
 * what they keep is too much. The newest run always stays, and no run goes in part: half of it taken back is no state
 * that ever was. `sizes` says how many bytes are kept under a fingerprint.
 */
function forgotten(
  changes: readonly KeptChange[],
  sizes: ReadonlyMap<string, number>,
  { nowMs, maxBytes }: KeptLimits,
): ReadonlySet<string> {
  // A map keeps the place of a key, so a run is put in anew with each of its changes.
  const lastTimes = new Map<string, number>();
  for (const { run, time } of changes) {
    lastTimes.delete(run);
    lastTimes.set(run, time);
  }
  const newestFirst = [...lastTimes].reverse();
  const gone = new Set<string>();
  const counted = new Set<string>();
  let bytes = 0;
  for (const [index, [run, time]] of newestFirst.entries()) {
    for (const { before } of changes.filter((change) => change.run === run)) {
      if (before === undefined || counted.has(before)) continue;
      counted.add(before);
      bytes += sizes.get(before) ?? 0;
    }
    if (index > 0 && (bytes > maxBytes || nowMs - time > MAX_AGE_MS)) gone.add(run);
  }
  return gone;
}

/** What became of one file that was to be put back. */
export type TakenBack = { readonly path: string } & ({ readonly undoing: Undoing } | { readonly problem: AppError });

/**
 * Puts back what was there before these changes, file by file, the one that was changed last first. What cannot be put back
 * is left alone, told, and passed over next time. Throws AppError `config`.
 */
export async function takeBackAll(
  changes: readonly Change[],
  store: UndoStore,
  workspace: Workspace,
): Promise<readonly TakenBack[]> {
  const results: TakenBack[] = [];
  for (const path of new Set(changes.map((change) => change.path).reverse())) {
    const [first, ...others] = changes.filter((change) => change.path === path);
    if (first === undefined) continue;
    try {
      results.push({ path, undoing: await store.takeBack([first, ...others], workspace) });
    } catch (thrown) {
      results.push({ path, problem: AppError.from(thrown) });
      await store.pass([first, ...others]);
    }
  }
  return results;
}
