import { AppError } from '../core/error.ts';
import { isObject, tryParseJson } from '../core/json.ts';
import { createCondition } from '../platform/runtime/condition.ts';
import type { Journal } from './output/journal.ts';
import type { FinishedRow } from './rows/result.ts';
import { createRowId, type Row, type Rows } from './rows/row.ts';
import type { Engine, PendingRow } from './rows/row-engine.ts';

export interface RunOptions {
  readonly rows: Rows;
  readonly journal: RowRecord;
  readonly engine: Engine;
  readonly retriesFailed: boolean;
  readonly isOrdered: boolean;
  readonly limit?: number;
  /** Once it aborts, no further row is begun; what is in flight is finished. */
  readonly drainSignal: AbortSignal;
  readonly signal: AbortSignal;
  readonly onSeen?: (row: Row, isPending: boolean) => void;
  readonly onFinished?: (row: FinishedRow) => void;
}

/** What a run needs of its journal. */
export type RowRecord = Pick<Journal, 'claim' | 'write' | 'keepFailed' | 'sync'>;

export interface RunCounts {
  readonly seen: number;
  readonly skipped: number;
  /** Of these, rows that can only be asked when the input is corrected: unreadable ones, and those with the id of another. */
  readonly unreadable: number;
  /** False if the run was drained before the end of the input. */
  readonly isComplete: boolean;
}

/** A row that cannot be read, or has the id of another, is a failed row. Throws what the engine and the journal throw. */
export async function runRows(options: RunOptions): Promise<RunCounts> {
  const { rows, journal, engine, retriesFailed, drainSignal, signal, limit = Number.POSITIVE_INFINITY } = options;
  const { onSeen = () => {}, onFinished = () => {} } = options;
  let seen = 0;
  let skipped = 0;
  let unreadable = 0;
  let isComplete = true;
  const write = async (row: FinishedRow): Promise<void> => {
    await journal.write(row);
    onFinished(row);
  };
  const order = options.isOrdered ? createOrder(write) : undefined;
  const finish = order?.finish ?? write;

  async function* pendingRows(): AsyncGenerator<PendingRow, void> {
    try {
      for await (const given of rows) {
        if (drainSignal.aborted) isComplete = false;
        if (drainSignal.aborted || seen >= limit) return;
        seen += 1;
        const { row, claim } = claimRow(given, journal);
        if (!isReadableRow(row)) unreadable += 1;
        const isDone = claim === 'ok' || (claim === 'failed' && !(retriesFailed && isReadableRow(row)));
        onSeen(row, !isDone);
        if (isDone) {
          skipped += 1;
          if (claim === 'failed') journal.keepFailed(row);
          continue;
        }
        await order?.expect(row.index);
        if (isReadableRow(row)) yield row;
        else await finish({ id: row.id, index: row.index, line: row.line, result: row.input as AppError });
      }
    } catch (thrown) {
      // The run was drained while it waited for input.
      if (!drainSignal.aborted) throw thrown;
      isComplete = false;
    }
  }

  const pending = pendingRows();
  try {
    await engine.run({ rows: pending, finish, sync: journal.sync, signal });
  } finally {
    // An engine that stops does not read the input to its end.
    await pending.return();
  }
  return { seen, skipped, unreadable, isComplete };
}

function isReadableRow(row: Row): row is PendingRow {
  return !(row.input instanceof AppError);
}

function claimRow(row: Row, journal: RowRecord) {
  const claim = journal.claim(row.id);
  if (claim !== 'duplicate') return { row, claim };
  // A line under the same id would count for the row that has the id.
  const id = createRowId({ lineNumber: row.index + 1, text: `duplicate of ${row.id}` });
  const input = new AppError(
    'usage',
    `row ${row.index + 1} has the id "${row.id.slice(0, 100)}", which an earlier row has`,
    {
      hint: 'Give every row an id of its own, or none.',
    },
  );
  return { row: { ...row, id, input, line: replaceId(row.line, id) }, claim: journal.claim(id) };
}

/** The row under an id of its own, so that it can be asked with the other failed rows. */
function replaceId(line: string | undefined, id: string): string | undefined {
  const fields = line === undefined ? undefined : tryParseJson(line);
  return isObject(fields) ? JSON.stringify({ ...fields, id }) : line;
}

/** How many finished rows may wait for an earlier one: if the process is killed, they are asked again. */
const WINDOW = 256;

function createOrder(write: (row: FinishedRow) => Promise<void>) {
  const expected: number[] = [];
  const finished = new Map<number, FinishedRow>();
  const written = createCondition();
  return {
    /** Called for each row in the order of the input, before it is begun. Waits while too many rows wait for the first. */
    async expect(index: number): Promise<void> {
      while (expected.length >= WINDOW) await written.wait();
      expected.push(index);
    },
    /** Resolves when the row is written, or at once if it has to wait for an earlier one. */
    async finish(row: FinishedRow): Promise<void> {
      finished.set(row.index, row);
      const writes: Promise<void>[] = [];
      for (let first = expected[0]; first !== undefined; first = expected[0]) {
        const next = finished.get(first);
        if (next === undefined) break;
        expected.shift();
        finished.delete(first);
        writes.push(write(next));
      }
      written.notifyAll();
      await Promise.all(writes);
    },
  };
}
