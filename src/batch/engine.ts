import type { FinishedRow } from './result.ts';
import type { Row, RowInput } from './row.ts';

/** A row that can be asked, and that the output does not have. */
export interface PendingRow extends Row {
  readonly input: RowInput;
}

export interface EngineRun {
  /**
   * The rows to ask, in the order of the input. Reading one is a promise to finish it, unless the run stops. It ends when the
   * input does, or when the run is to wind down.
   */
  readonly rows: AsyncIterator<PendingRow, void>;
  /** Gives back a row; resolves when it is in the output. Rejects if the output cannot be written. */
  readonly finish: (row: FinishedRow) => Promise<void>;
  /** Resolves when all rows that were given back are on disk, so that even a power failure cannot lose them. */
  readonly sync: () => Promise<void>;
  /** Aborts what is in flight. */
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
