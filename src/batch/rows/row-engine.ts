import type { FinishedRow, RowAnswer } from './result.ts';
import type { Row, RowInput } from './row.ts';

export interface PendingRow extends Row {
  readonly input: RowInput;
}

export interface EngineRun {
  /** In the order of the input. A row that is read must be finished, unless the run stops. */
  readonly rows: AsyncIterator<PendingRow, void>;
  /** Resolves when the row is in the output. Rejects if the output cannot be written. */
  readonly finish: (row: FinishedRow) => Promise<void>;
  /** Resolves when all finished rows are on disk, so that even a power failure cannot lose them. */
  readonly sync: () => Promise<void>;
  readonly signal: AbortSignal;
}

/**
 * Asks rows and finishes each once, in any order. What is wrong with one row is the result of that row. Resolves when all rows
 * it has read are finished. Throws AppError to stop the run, e.g. as the quota of the day is used up: rows that are not
 * finished by then are asked by the next run, by this engine or another.
 */
export interface Engine {
  run(run: EngineRun): Promise<void>;
}

/** A row that is ready to be asked, any number of times. */
export interface PreparedRow {
  readonly tokens: number;
  /** The row names the model that is asked: what that one refuses says nothing of other rows. */
  readonly hasOwnModel?: boolean;
  /** The same for the same request; called only with `--dedupe`. */
  readonly key: () => string;
  /** Sends it once. Throws AppError, with `retry` where another attempt may help. */
  ask(signal: AbortSignal): Promise<AttemptAnswer>;
}

export type AttemptAnswer = Pick<RowAnswer, 'response' | 'json' | 'model' | 'usage' | 'cost' | 'finishReason'>;
