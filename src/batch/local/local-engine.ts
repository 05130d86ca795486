import { AppError, type QuotaFault } from '../../core/error.ts';
import { type Clock, SAID_MS } from '../../core/io.ts';
import { formatDuration } from '../../core/text/format.ts';
import type { Usage } from '../../core/usage.ts';
import { createAbortable, onAbort } from '../../platform/runtime/abort.ts';
import { createCondition } from '../../platform/runtime/condition.ts';
import type { RowAnswer, RowResult } from '../rows/result.ts';
import type { Engine, EngineRun, PendingRow, PreparedRow } from '../rows/row-engine.ts';
import { MAX_WAIT_MS, type Permit, type Throttle } from './throttle.ts';

export interface LocalEngineOptions {
  readonly throttle: Throttle;
  readonly clock: Clock;
  readonly random: () => number;
  /** Throws AppError for a row that cannot be asked. */
  readonly prepare: (row: PendingRow) => Promise<PreparedRow>;
  readonly retries: number;
  /** The first delay; it doubles with each retry. */
  readonly baseMs: number;
  readonly dedupes?: boolean;
  /** Gets what is said about the first row that waits long before it is asked again. */
  readonly notify?: (message: string) => void;
}

/** How often a row may be refused for lack of room before it fails; each time, all rows slow down. */
const MAX_REFUSALS = 10;

/** After so many failures of the service without one answer in between, the run stops. */
const MAX_FAILURES_IN_A_ROW = 25;

/** Our estimates are not further off than this, so a count that is comes from a broken server. */
const MAX_RATIO = 10;

const MAX_DELAY_MS = 60_000;

const DEDUPE_BYTES = 16_000_000;
/** What a cached answer takes besides its text, as measured. */
const BYTES_PER_ANSWER = 800;

/** Sends one request per row, as many at once as the throttle allows. */
export function createLocalEngine(options: LocalEngineOptions): Engine {
  return { run: (run) => runLocally(options, run) };
}

async function runLocally(options: LocalEngineOptions, run: EngineRun): Promise<void> {
  const { throttle } = options;
  /** Aborts with `run.signal`, or alone after a failure: then nothing new is sent, and what is in flight finishes. */
  const halt = createAbortable();
  const unfollow = onAbort(run.signal, () => halt.abort(run.signal.reason));
  if (run.signal.aborted) halt.abort(run.signal.reason);
  const runRow = createRowRunner(options, run, halt.signal);
  let failure: unknown;
  let inFlight = 0;
  const ended = createCondition();
  const start = (row: PendingRow): void => {
    inFlight += 1;
    runRow(row)
      .catch((thrown: unknown) => {
        failure ??= thrown;
        halt.abort(thrown);
      })
      .finally(() => {
        inFlight -= 1;
        ended.notifyAll();
      });
  };
  try {
    while (!halt.signal.aborted) {
      if (inFlight >= throttle.limit) {
        await ended.wait();
        continue;
      }
      const next = await run.rows.next();
      if (next.done) break;
      if (!halt.signal.aborted) start(next.value);
    }
    while (inFlight > 0) await ended.wait();
  } finally {
    unfollow();
  }
  if (failure !== undefined) throw failure;
  run.signal.throwIfAborted();
}

function createRowRunner(
  options: LocalEngineOptions,
  { finish, signal }: EngineRun,
  halted: AbortSignal,
): (row: PendingRow) => Promise<void> {
  const { clock, prepare, dedupes = false } = options;
  const ask = createAsker(options, { signal, halted });
  const answers = createAnswerCache(DEDUPE_BYTES);
  let failuresInARow = 0;

  const answer = async (row: PendingRow, prepared: PreparedRow): Promise<RowResult> => {
    if (!dedupes) return ask(prepared);
    const key = prepared.key();
    const twin = answers.find(key);
    if (twin === undefined) return answers.add(key, row.id, ask(prepared));
    const known = await twin.result;
    // A row does not fail with its twin: it is asked on its own.
    return known instanceof AppError ? ask(prepared) : copyAnswer(twin.id, known);
  };

  /** Throws what ends the run. */
  const settle = async (row: PendingRow): Promise<RowResult> => {
    try {
      return await answer(row, await prepare(row));
    } catch (thrown) {
      if (thrown instanceof RunStop) throw thrown.reason;
      if (thrown === halted.reason) throw thrown;
      const error = AppError.from(thrown);
      // A bug in gmn, not a fault of the row.
      if (error.fault === 'internal' && error.cause !== undefined) throw error;
      return error;
    }
  };

  return async (row) => {
    const begunAt = clock.now();
    const result = await settle(row);
    const isService = result instanceof AppError && (result.retry ?? findQuota(result)) !== undefined;
    if (isService) failuresInARow += 1;
    else if (!(result instanceof AppError)) failuresInARow = 0;
    await finish({ id: row.id, index: row.index, line: row.line, result: withTime(result, clock.now() - begunAt) });
    if (!isService || failuresInARow < MAX_FAILURES_IN_A_ROW) return;
    throw result.with({
      message: `${failuresInARow} rows in a row failed, so the run stops: ${result.message}`,
      hint: 'When the service works again, run the same command with --retry-failed to continue.',
    });
  };
}

function copyAnswer(id: string, answer: RowAnswer): RowAnswer {
  const cost = answer.cost === undefined ? undefined : 0;
  return { ...answer, usage: {}, cost, sameAs: id, ms: 0, attempts: 0 };
}

function withTime(result: RowResult, ms: number): RowResult {
  return result instanceof AppError || result.attempts === 0 ? result : { ...result, ms };
}

/** Ends the run, not only the row. */
class RunStop extends Error {
  readonly reason: AppError;
  constructor(reason: AppError) {
    super(reason.message);
    this.reason = reason;
  }
}

/** Asks a row until it is answered or has failed for good. Throws RunStop for what would happen to every row. */
function createAsker(
  options: LocalEngineOptions,
  { signal, halted }: { readonly signal: AbortSignal; readonly halted: AbortSignal },
) {
  const { throttle, clock, random, retries, baseMs, notify = () => {} } = options;
  let isSaid = false;
  const sayOnce = (message: string): void => {
    if (!isSaid) notify(message);
    isSaid = true;
  };
  /** The server's token counts divided by our estimates. */
  let ratio = 1;
  const learnRatio = (expected: number, { promptTokenCount }: Usage): void => {
    if (promptTokenCount === undefined || expected === 0) return;
    ratio += 0.05 * (Math.min(MAX_RATIO, promptTokenCount / expected) - ratio);
  };

  return async (prepared: PreparedRow): Promise<RowResult> => {
    let refusals = 0;
    let failures = 0;
    for (let attempts = 1; ; attempts += 1) {
      const expected = Math.ceil(prepared.tokens * ratio);
      let permit: Permit | undefined;
      try {
        permit = await throttle.acquire(expected, halted);
        const asked = await prepared.ask(signal);
        permit.succeed(asked.usage.promptTokenCount);
        learnRatio(prepared.tokens, asked.usage);
        return { ...asked, ms: 0, attempts };
      } catch (thrown) {
        const error = AppError.from(thrown);
        const isRefusal = error.fault === 'api' && isThrottled(error.details);
        if (isRefusal) permit?.refuse(error);
        else permit?.fail();
        if (thrown === halted.reason) throw thrown;
        signal.throwIfAborted();
        if (isFatal(error, prepared)) throw new RunStop(toStopError(error));
        if (isRefusal) refusals += 1;
        else failures += 1;
        const isOver = isRefusal ? refusals > MAX_REFUSALS : error.retry === undefined || failures > retries;
        if (isOver) return error;
        halted.throwIfAborted();
        const delayMs = Math.min(MAX_DELAY_MS, baseMs * 2 ** (failures - 1) * (0.7 + 0.6 * random()));
        if (isRefusal) continue;
        if (delayMs > SAID_MS) sayOnce(`${error.message}; a row is asked again in ${formatDuration(delayMs)}`);
        await clock.sleep(delayMs, halted);
      }
    }
  };
}

/** Whether the service lacks capacity for all requests, not only for this one, and waiting helps. */
function isThrottled({ status, quota }: AppError<'api'>['details']): boolean {
  if (quota === undefined) return status === 429 || status === 503;
  return quota.per === 'minute' && !isLongWait(quota);
}

function findQuota({ fault, details }: AppError): QuotaFault | undefined {
  return fault === 'api' ? details.quota : undefined;
}

function isLongWait({ waitMs = 0 }: QuotaFault): boolean {
  return waitMs > MAX_WAIT_MS;
}

/** Whether every other row would fail in the same way. */
function isFatal({ fault, details }: AppError, { hasOwnModel = false }: PreparedRow): boolean {
  if (fault === 'limit') return details.isCostSpent === true;
  if (fault !== 'api') return fault === 'auth' || fault === 'config';
  const { objection, quota } = details;
  if (hasOwnModel) return quota?.per === 'account';
  return objection === 'model' || (quota !== undefined && (quota.per !== 'minute' || isLongWait(quota)));
}

function toStopError(error: AppError): AppError {
  const {
    per,
    waitMs,
    resets = waitMs ? `The server asks to wait ${formatDuration(waitMs)}.` : '',
  } = findQuota(error) ?? {};
  const next = 'Run the same command again then: it continues where it stopped.';
  if (per === 'plan' || per === 'account') return error.with({ hint: `${error.hint} ${next}` });
  if (per !== 'day' && waitMs === undefined) return error;
  return error.with({ hint: `${resets} ${next}`.trimStart() });
}

interface KnownAnswer {
  readonly id: string;
  /** Never rejects. */
  readonly result: Promise<RowResult>;
  /** 0 while it is in flight. */
  bytes: number;
}

/** The answers to requests; drops the oldest when they are too large together. Failures are not cached. */
function createAnswerCache(maxBytes: number) {
  const known = new Map<string, KnownAnswer>();
  let total = 0;
  return {
    find: (key: string): KnownAnswer | undefined => known.get(key),
    async add(key: string, id: string, asking: Promise<RowResult>): Promise<RowResult> {
      const entry = { id, result: asking.catch((thrown: unknown) => AppError.from(thrown)), bytes: 0 };
      known.set(key, entry);
      const result = await asking;
      if (result instanceof AppError) known.delete(key);
      else {
        entry.bytes = BYTES_PER_ANSWER + 2 * (result.response?.length ?? JSON.stringify(result.json).length);
        total += entry.bytes;
      }
      for (const [oldest, { bytes }] of known) {
        if (total <= maxBytes) break;
        if (bytes === 0) continue;
        known.delete(oldest);
        total -= bytes;
      }
      return result;
    },
  };
}
