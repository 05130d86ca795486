import { openRowEngine } from '../batch/local/open.ts';
import { openJournal } from '../batch/output/journal.ts';
import { resolveRunPaths } from '../batch/output/run-file.ts';
import { BatchCosts } from '../batch/requests/costs.ts';
import { openBatch } from '../batch/requests/setup.ts';
import { type FinishedRow, isFailed } from '../batch/rows/result.ts';
import { brokenRow, jsonRow, type RawRow, type Row } from '../batch/rows/row.ts';
import { peekRows } from '../batch/rows/source.ts';
import { type RowRecord, runRows } from '../batch/run-rows.ts';
import type { App } from '../core/app.ts';
import { raceWithAbort } from '../core/async.ts';
import { AppError } from '../core/error.ts';
import type { Guest } from '../platform/app.ts';
import { createAbortable, followSignal, onAbort } from '../platform/runtime/abort.ts';
import { createRunApp } from './app.ts';
import { createChannel } from './channel.ts';
import { toGmnError, turnCancelledError } from './error.ts';
import type * as Public from './gmn.d.ts';
import { toAnswerSchema, tryToJson } from './schema.ts';
import { checkSignal, openLibraryBudget, toModelOptions } from './setup.ts';

type BatchOptions = Public.BatchOptions & { readonly schema?: unknown };
type GivenRows = Iterable<unknown> | AsyncIterable<unknown>;
type Result = Public.BatchResult<unknown, unknown>;

export function createBatchFunction(guest: Guest): typeof Public.batch {
  const batch = (rows: GivenRows, options: BatchOptions = {}) => {
    const life = createAbortable();
    const results = runBatch(rows, options, guest, life);
    const end = results.return.bind(results);
    // A generator would wait for the answer that it waits for.
    results.return = (value) => {
      life.abort(turnCancelledError());
      return end(value);
    };
    return results;
  };
  // The overloads say which options give which type of result.
  return batch as typeof Public.batch;
}

async function* runBatch(
  rows: GivenRows,
  options: BatchOptions,
  guest: Guest,
  life: AbortController,
): AsyncGenerator<Result, void> {
  const { signal: given } = options;
  const channel = createChannel<Result>();
  const cancel = (): void => life.abort(turnCancelledError(given?.reason));
  let unfollow: (() => void) | undefined;
  const ended = onAbort(life.signal, channel.close);
  let work: Promise<void> | undefined;
  try {
    checkSignal(given);
    if (given?.aborted) cancel();
    unfollow = given && followSignal(given, cancel);
    life.signal.throwIfAborted();
    const app = createRunApp(guest, options, { signal: life.signal, keepsFiles: false });
    work = askRows(rows, options, app, channel.put);
    yield* channel.read(work);
    life.signal.throwIfAborted();
  } catch (thrown) {
    throw toGmnError(life.signal.aborted ? life.signal.reason : thrown);
  } finally {
    ended();
    unfollow?.();
    // Whoever leaves the loop wants no more answers.
    channel.close();
    life.abort(turnCancelledError());
    await work?.catch(() => {});
  }
}

async function askRows(
  given: GivenRows,
  options: BatchOptions,
  app: App,
  put: (result: Result) => Promise<void>,
): Promise<void> {
  const { prompt, output, ordered = false, concurrency } = options;
  const schema = options.schema === undefined ? undefined : toAnswerSchema(options.schema);
  const [costs, budget] = await Promise.all([BatchCosts.open(app), openLibraryBudget(options, app)]);
  const model = toModelOptions(options, app);
  const parts = { costs, budget, onNotice: () => {} };
  const setup = await openBatch({ ...model, prompt, outputSchema: schema?.text }, app, parts);
  try {
    /** Those that are asked, by their index. */
    const asked = new Map<number, unknown>();
    const read = readGivenRows(given, asked, app.signal);
    const { firstRow, rows, close } = await peekRows(read, setup.checkRow);
    const journal =
      output === undefined
        ? createRowRecord()
        : await openJournal({
            paths: resolveRunPaths(output, app.cwd),
            settings: setup.settings,
            input: { name: '-', firstRow },
            restarts: false,
            redact: setup.redact,
            notify: () => {},
            clock: app.clock,
            signal: app.signal,
          });
    const give = async (row: FinishedRow): Promise<void> => {
      const result = await toBatchResult(row, asked.get(row.index), schema?.read);
      asked.delete(row.index);
      await put(result);
    };
    try {
      const { engine } = openRowEngine({ concurrency }, { app, setup, notify: () => {} });
      const record: RowRecord = {
        ...journal,
        async write(row) {
          await journal.write(row);
          await give(row);
        },
      };
      await runRows({
        rows,
        journal: record,
        engine,
        isOrdered: ordered,
        retriesFailed: true,
        drainSignal: app.signal,
        signal: app.signal,
        onSeen: ({ index }, isPending) => void (isPending || asked.delete(index)),
      });
    } finally {
      await close();
      await journal.close();
    }
  } finally {
    await setup.close();
  }
}

/** A row that is neither a text nor an object is a failed row. */
async function* readGivenRows(
  given: GivenRows,
  asked: Map<number, unknown>,
  signal: AbortSignal,
): AsyncGenerator<Row, void> {
  const iterator = iterate(given);
  let isLeft = true;
  const readNext = async (): Promise<IteratorResult<unknown, unknown>> => {
    try {
      return await iterator.next();
    } catch (cause) {
      isLeft = false;
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new AppError('usage', `the rows could not be read: ${why}`, { cause });
    }
  };
  try {
    for (let index = 0; ; index += 1) {
      // A source that has nothing for long must not hold up the end.
      const next = await raceWithAbort(readNext(), signal);
      if (next.done) {
        isLeft = false;
        return;
      }
      asked.set(index, next.value);
      yield toGivenRow(next.value, { index, lineNumber: index + 1 });
    }
  } finally {
    if (isLeft) void endSource(iterator);
  }
}

function toGivenRow(value: unknown, place: Omit<RawRow, 'text'>): Row {
  const text = tryToJson(value);
  if (text !== undefined || value === undefined) return jsonRow({ ...place, text: text ?? 'null' });
  const message = `line ${place.lineNumber} cannot be written as JSON`;
  return brokenRow({ ...place, text: '' }, message, 'A row is a text, or an object of texts, numbers and lists.');
}

/** Nobody waits for a source that does not end. */
async function endSource(iterator: Iterator<unknown> | AsyncIterator<unknown>): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // What it has read is used anyway.
  }
}

function iterate(given: GivenRows): Iterator<unknown> | AsyncIterator<unknown> {
  if (typeof given === 'object' && given !== null) {
    if (Symbol.asyncIterator in given) return given[Symbol.asyncIterator]();
    if (Symbol.iterator in given) return given[Symbol.iterator]();
  }
  throw new AppError('usage', 'batch takes rows that can be iterated, such as a list');
}

/** Without an output only this run knows what was asked. */
function createRowRecord(): RowRecord & { close(): Promise<void> } {
  const seen = new Set<string>();
  const nothing = async (): Promise<void> => {};
  return {
    claim(id) {
      if (seen.has(id)) return 'duplicate';
      seen.add(id);
      return 'pending';
    },
    write: nothing,
    keepFailed: () => {},
    sync: nothing,
    close: nothing,
  };
}

async function toBatchResult(
  { id, index, result }: FinishedRow,
  row: unknown,
  readJson: ((text: string) => Promise<unknown>) | undefined,
): Promise<Result> {
  const place = { id, index, row };
  if (isFailed(result)) return { ...place, ok: false, error: toGmnError(result) };
  const { response: text = '', json, model, usage, cost, finishReason, attempts } = result;
  try {
    return {
      ...{ ...place, ok: true, text, model, usage, attempts },
      json: readJson === undefined ? undefined : await readJson(JSON.stringify(json)),
      cost,
      finishReason,
    };
  } catch (thrown) {
    return { ...place, ok: false, error: toGmnError(AppError.from(thrown)) };
  }
}
