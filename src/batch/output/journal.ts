import { createSerial } from '../../core/async.ts';
import { AppError } from '../../core/error.ts';
import type { Clock } from '../../core/io.ts';
import { type JsonValue, tryParseJson } from '../../core/json.ts';
import { type AppendFile, openAppendFile } from '../../platform/files/append.ts';
import { acquireLock } from '../../platform/files/lock.ts';
import { pathExists } from '../../platform/files/path.ts';
import { readPathStatus } from '../../platform/files/read.ts';
import { moveFile } from '../../platform/files/write.ts';
import { readModifiedTime } from '../../platform/files/write-sync.ts';
import { nextTurn } from '../../platform/runtime/clock.ts';
import { errorCode, errorReason } from '../../platform/runtime/system.ts';
import { type FinishedRow, formatOutputLine, isFailed, tryParseOutputLine } from '../rows/result.ts';
import type { CsvFormat, Row } from '../rows/row.ts';
import { type FailedFile, openFailedFile, type RedactLines } from './failed-file.ts';
import { createIdTable, type IdTable } from './id-table.ts';
import {
  checkSameRun,
  createRunId,
  type RunFile,
  type RunInput,
  type RunPaths,
  type RunSettings,
  readRunFile,
  writeRunFile,
} from './run-file.ts';
import { readRunLines } from './run-lines.ts';
import { toTableFormat, writeTable } from './table-file.ts';

export interface JournalOptions {
  readonly paths: RunPaths;
  readonly settings: RunSettings;
  readonly input: RunInput;
  /** Starts a new output; the old one is kept as `<out>.old`. */
  readonly restarts: boolean;
  /** How the input looks, if it is a CSV: a table looks the same. */
  readonly table?: CsvFormat;
  /** Whether a table has its cells as they are. Absent: as before. */
  readonly isTableRaw?: boolean;
  /** Whether lines are written without their row. Absent: as before. */
  readonly omitsInput?: boolean;
  readonly redact: RedactLines;
  readonly notify: (message: string) => void;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** What the output has of a row: nothing yet (`pending`), or its last result. `duplicate`: an earlier row has its id. */
type Claim = 'pending' | 'ok' | 'failed' | 'duplicate';

/** The output of a run, which is also the record of what is done. This process is its only writer. */
export type Journal = Awaited<ReturnType<typeof openJournal>>;

export interface RowCounts {
  readonly ok: number;
  readonly failed: number;
}

const OK = 1;
const FAILED = 2;
/** Added to the mark of an id that a row of this input has. */
const SEEN = 4;
/** Added to the mark of an id that has several lines in the output: a row that failed was asked again. */
const REPEATED = 8;

const SYNC_MS = 1000;
const LOCK_WAIT_MS = 300;

/** A new output, or one to go on with. Throws AppError `usage` if another process has it, or other settings made it. */
export async function openJournal(options: JournalOptions) {
  const { paths, clock, signal } = options;
  const lock = await acquireLock(paths.lock, {
    clock,
    signal,
    // A process that was killed just now may still exist for a moment.
    maxWaitMs: LOCK_WAIT_MS,
    isDone: async () => false,
    takesFrom: 'gone',
  });
  if (lock?.isTaken) {
    throw new AppError('usage', `another gmn batch is writing to ${paths.named}`, {
      hint: `Wait for it, or use another --output-file. (Its lock: ${paths.lock})`,
    });
  }
  if (!lock?.isHeld) throw outputWriteError(paths.output, new Error(`cannot create ${paths.lock}`));
  try {
    const run = await prepareRunFile(options);
    const marks = createIdTable();
    const { counts, end } = await scanOutput(paths, marks);
    const file = await openAppendFile(paths.output, { now: clock.now(), torn: 'drop', createMode: 0o666, end }).catch(
      (thrown: unknown) => {
        throw outputWriteError(paths.output, thrown);
      },
    );
    const failed = await openFailedFile(paths.failed, (id) => (marks.get(id) & OK) !== 0, options.redact);
    const journal = createJournal({ ...options, run, marks, counts, file, failed });
    return {
      ...journal,
      async close() {
        await journal.close().finally(() => lock.release());
      },
    };
  } catch (thrown) {
    await lock.release();
    throw thrown;
  }
}

async function prepareRunFile(options: JournalOptions): Promise<RunFile> {
  const { paths, settings, input, restarts, clock } = options;
  const before = await readRunFile(paths);
  const isTable = paths.table !== undefined;
  for (const path of [paths.table, paths.output]) {
    if (path === undefined || (readPathStatus(path)?.bytes ?? 0) === 0) continue;
    // A run file without `table`: an earlier gmn has written lines of JSON under that name.
    if (before !== undefined && (before.table !== undefined || !isTable)) continue;
    throw new AppError('usage', `${path} exists and is not the ${isTable ? 'table' : 'output'} of a batch run`, {
      hint: 'Use another --output-file, or move it away.',
    });
  }
  const isBegun = before !== undefined && hasBegun(paths);
  if (isBegun && !restarts) {
    checkSameRun(before, { settings, input }, paths);
    const { isTableRaw: isRaw = before.table?.isRaw, omitsInput = before.omitsInput ?? false } = options;
    if (isRaw === before.table?.isRaw && omitsInput === (before.omitsInput ?? false)) return before;
    const changed = { ...before, table: before.table && { ...before.table, isRaw }, omitsInput };
    await writeRunFile(paths, changed);
    return changed;
  }
  if (isBegun) {
    await moveFile(paths.output, paths.old);
    if (paths.table !== undefined && paths.oldTable !== undefined) await moveFile(paths.table, paths.oldTable);
    await moveFile(paths.failed, paths.oldFailed);
  }
  const format = paths.table === undefined ? undefined : toTableFormat(paths.table, options.table);
  const table = format && { ...format, isRaw: options.isTableRaw ?? false };
  const createdAt = new Date(clock.now()).toISOString();
  const run = { runId: createRunId(), createdAt, settings, input, table, omitsInput: options.omitsInput };
  await writeRunFile(paths, run);
  return run;
}

/** Whether a row was answered, or asked at the service. Until then there is nothing that other settings could spoil. */
function hasBegun({ output, plan }: RunPaths): boolean {
  return (readPathStatus(output)?.bytes ?? 0) > 0 || pathExists(plan);
}

/** Needs no lock: another process may be writing to the output. Throws AppError `usage`. */
export async function readCounts(paths: RunPaths): Promise<RowCounts> {
  return (await scanOutput(paths, createIdTable())).counts;
}

interface Scan {
  readonly counts: { ok: number; failed: number };
  /** Where the last whole line ends. */
  readonly end: number;
}

/** The last line of an id counts. Throws AppError `usage` for a line that gmn has not written. */
async function scanOutput({ output }: RunPaths, marks: IdTable): Promise<Scan> {
  const counts = { ok: 0, failed: 0 };
  let end = 0;
  let lineNumber = 0;
  if (!pathExists(output)) return { counts, end };
  for await (const batch of readRunLines(output)) {
    end = batch.end;
    for (const line of batch.lines) {
      lineNumber += 1;
      const mark = tryParseOutputLine(line);
      if (mark === undefined) {
        throw new AppError('usage', `${output}: line ${lineNumber} is not the output of a batch run`, {
          hint: 'Remove the line if you added it; else use another --output-file.',
        });
      }
      const before = marks.get(mark.id);
      countMark(counts, before, mark.ok);
      marks.set(mark.id, markResult(before, mark.ok));
    }
  }
  return { counts, end };
}

function markResult(before: number, ok: boolean): number {
  return (before & SEEN) | (before & (OK | FAILED) ? REPEATED : 0) | (ok ? OK : FAILED);
}

function countMark(counts: { ok: number; failed: number }, before: number, ok: boolean): void {
  if (before & OK) counts.ok -= 1;
  if (before & FAILED) counts.failed -= 1;
  if (ok) counts.ok += 1;
  else counts.failed += 1;
}

interface JournalParts extends Pick<JournalOptions, 'paths' | 'redact' | 'notify' | 'clock'> {
  readonly run: RunFile;
  readonly marks: IdTable;
  readonly counts: { ok: number; failed: number };
  readonly file: AppendFile;
  readonly failed: FailedFile;
}

function createJournal(parts: JournalParts) {
  const { paths, run, marks, counts, file, failed, clock } = parts;
  const lines = createLineWriter(file, paths.output, clock);
  const formatLine = createLineFormat(parts);
  let forgetsOthers = false;
  let claimed: RowCounts | undefined;
  return {
    paths,
    runId: run.runId,
    /** Rows of the output by their last result, those of earlier runs included. */
    counts: counts as RowCounts,
    claim(id: string): Claim {
      const mark = marks.get(id);
      if (mark & SEEN) return 'duplicate';
      marks.set(id, mark | SEEN);
      return mark & OK ? 'ok' : mark & FAILED ? 'failed' : 'pending';
    },
    /** Resolves when it is in the file: no kill can lose it, a power failure those of the last second. Throws AppError `internal`. */
    async write(row: FinishedRow): Promise<void> {
      // First the line, then the mark: a row that is marked is among those that are written.
      const line = await formatLine(row);
      const before = marks.get(row.id);
      // No row gets a second answer, whichever engine asks.
      if (before & OK) return;
      const ok = !isFailed(row.result);
      countMark(counts, before, ok);
      marks.set(row.id, markResult(before, ok));
      await lines.write(line);
      if (!ok && row.line !== undefined) failed.add(row.line);
    },
    /** Keeps a row that failed in an earlier run in `<out>.failed.jsonl`, if it is not there. */
    keepFailed({ line }: Row): void {
      if (line !== undefined) failed.add(line);
    },
    /** The claimed rows by their last result. Rows that the input no longer has do not count. */
    countClaimed: () => claimed ?? countSeen(marks),
    /** To be called when all rows of the input are claimed: drops all others, such as corrected ones, from `<out>.failed.jsonl`. */
    forgetOthers(): void {
      forgetsOthers = true;
    },
    /** Resolves when everything written so far is on disk. Throws AppError `internal`. */
    sync: lines.sync,
    /** Writes the rows that wait before it returns, for a process about to end. Never throws. */
    flushNow: lines.flushNow,
    /** Everything is on disk when it resolves, and the output may be used by others. */
    async close(): Promise<void> {
      try {
        await lines.close();
      } finally {
        await failed.close((id) => (marks.get(id) & OK) !== 0, forgetsOthers);
      }
      claimed = countSeen(marks);
      await updateTable(parts, forgetsOthers);
    },
  };
}

/** Appends lines, all that come in one turn of the event loop at once, and has them on disk a second later. */
function createLineWriter(file: AppendFile, output: string, clock: Clock) {
  let waiting: string[] = [];
  let flushed: Promise<void> | undefined;
  let syncedAt = clock.now();
  let syncing: Promise<void> | undefined;
  let failure: AppError | undefined;
  const syncFile = (): Promise<void> =>
    file.sync().catch((thrown: unknown) => {
      throw outputWriteError(output, thrown);
    });
  const append = async (): Promise<void> => {
    const lines = waiting;
    waiting = [];
    flushed = undefined;
    if (lines.length === 0) return;
    if (failure !== undefined) throw failure;
    try {
      if ((await file.append(`${lines.join('\n')}\n`)) === 'overtaken')
        throw new Error('another program has changed it');
    } catch (thrown) {
      failure = outputWriteError(output, thrown);
      throw failure;
    }
    if (clock.now() - syncedAt < SYNC_MS || syncing !== undefined) return;
    syncedAt = clock.now();
    // Not awaited: the next rows need not wait for the disk. A failure shows in the next write or in close.
    syncing = syncFile()
      .catch((thrown: AppError) => {
        failure = thrown;
      })
      .finally(() => {
        syncing = undefined;
      });
  };
  return {
    async write(line: string): Promise<void> {
      waiting.push(line);
      flushed ??= nextTurn().then(append);
      await flushed;
    },
    async sync(): Promise<void> {
      await flushed;
      await syncing;
      await syncFile();
    },
    flushNow(): void {
      void append().catch(() => {});
    },
    async close(): Promise<void> {
      try {
        await flushed;
        await append();
        await syncing;
        if (failure !== undefined) throw failure;
        await syncFile();
      } finally {
        await file.close();
      }
    },
  };
}

function countSeen(marks: IdTable): RowCounts {
  return { ok: marks.count(SEEN | OK), failed: marks.count(SEEN | FAILED) };
}

/** With the row it answers, unless that is left out; a table takes its columns from there. */
function createLineFormat({ run, redact }: JournalParts): (row: FinishedRow) => Promise<string> {
  if (run.omitsInput && run.table === undefined) return async (row) => formatOutputLine(row);
  // Lines stay in the order in which they came, however long their rows take to redact.
  const inOrder = createSerial();
  return (row) =>
    inOrder(async () => {
      const [line] = await redact([row.line]);
      const input = line === undefined ? undefined : ((tryParseJson(line) as JsonValue | undefined) ?? line);
      return formatOutputLine(row, input);
    });
}

async function updateTable({ paths, run, marks, notify }: JournalParts, forgetsOthers: boolean): Promise<void> {
  if (paths.table === undefined || run.table === undefined || (marks.size === 0 && !forgetsOthers)) return;
  const writtenAt = readModifiedTime(paths.table) ?? 0;
  const isStale = [paths.output, paths.run].some((path) => writtenAt <= (readModifiedTime(path) ?? 0));
  const hasOthers = forgetsOthers && marks.count(SEEN) < marks.size;
  if (!isStale && !hasOthers) return;
  const kept = forgetsOthers ? SEEN : 0;
  const notices = await writeTable(paths, { format: run.table, marks, kept, repeated: REPEATED });
  notices.forEach(notify);
}

function outputWriteError(output: string, cause: unknown): AppError {
  const code = errorCode(cause);
  const hint =
    code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG'
      ? 'Make room, then run the same command again: it continues where it stopped.'
      : 'Check the path and its permissions, then run the same command again: it continues where it stopped.';
  return new AppError('internal', `cannot write ${output}: ${errorReason(cause)}`, { cause, hint });
}
