import type { BatchJob } from '../../core/batches.ts';
import { AppError, serverError } from '../../core/error.ts';
import { isFailed } from '../rows/result.ts';
import { saveShard } from './jobs.ts';
import type { RemoteRun } from './options.ts';
import { replaceShard, type Shard } from './plan.ts';
import { openShardRows, openShardWriter, readShard, readShardRows } from './shard-file.ts';

/** The key of a row: unique to the run, so that no two runs share a file that one of them deletes. */
export function toRequestKey(runId: string, index: number): string {
  return `${runId}-${index}`;
}

function tryParseKey(key: string, runId: string): number | undefined {
  const index = key.startsWith(`${runId}-`) ? Number(key.slice(runId.length + 1)) : Number.NaN;
  return Number.isSafeInteger(index) ? index : undefined;
}

const WINDOW = 256;
/** How often a download is started again after a lost connection. */
const MAX_DOWNLOADS = 5;

/**
 * Puts the results of a job that has ended into the output. Rows without an answer go into a new shard, unless they have used
 * up their attempts; `leave` keeps them out of the output, for another engine. Collecting again after a crash changes
 * nothing. The shard is `collected` when this resolves.
 */
export async function collectShard(
  shard: Shard,
  job: BatchJob | undefined,
  run: RemoteRun,
  rest: 'retry' | 'leave' = 'retry',
): Promise<void> {
  const { store, finish, sync, limits } = run;
  const left = await takeResults(shard, job, run);
  const retries = new Set<number>();
  for (const [index, error] of left) if (shard.attempt < limits.attempts && canRetry(error)) retries.add(index);
  if (rest === 'retry') {
    const why = endingError(job);
    for await (const { start: _, ...row } of readShardRows(store, shard.number)) {
      if (!left.has(row.index) || retries.has(row.index)) continue;
      await finish({ ...row, result: left.get(row.index) ?? why });
    }
  }
  // The results are deleted at the service next.
  await sync();
  const collected: Shard = { ...shard, state: 'collected' };
  if (rest === 'leave' || retries.size === 0) await saveShard(run, collected);
  else await splitRetries(collected, retries, run);
}

/** The rows that have no answer, with the reason if there is one for that row. */
async function takeResults(
  shard: Shard,
  job: BatchJob | undefined,
  run: RemoteRun,
): Promise<Map<number, AppError | undefined>> {
  const { store, clock, signal, timing } = run;
  const starts = new Map<number, number>();
  for await (const { index, start } of readShardRows(store, shard.number)) starts.set(index, start);
  const left = new Map<number, AppError | undefined>([...starts.keys()].map((index) => [index, undefined]));
  if (job?.results === undefined) return left;
  for (let downloads = 1; ; downloads += 1) {
    try {
      await download(shard, job.results, run, starts, left);
      return left;
    } catch (thrown) {
      signal.throwIfAborted();
      const error = AppError.from(thrown);
      if (error.fault !== 'api' || error.retry === undefined || downloads === MAX_DOWNLOADS) throw error;
      await clock.sleep(timing.pollMs / 10, signal);
    }
  }
}

async function download(
  shard: Shard,
  results: NonNullable<BatchJob['results']>,
  { service, store, codec, finish, clock, signal }: RemoteRun,
  starts: ReadonlyMap<number, number>,
  left: Map<number, AppError | undefined>,
): Promise<void> {
  const { runId } = store.plan;
  const rows = openShardRows(store, shard.number);
  const asked = { model: shard.model, attempts: shard.attempt, ms: clock.now() - (shard.intentAt ?? clock.now()) };
  let window: Promise<void>[] = [];
  try {
    for await (const line of service.readResults(results, shard.model, signal)) {
      const index = tryParseKey(line.key, runId);
      const start = index === undefined ? undefined : starts.get(index);
      if (index === undefined || start === undefined || !left.has(index)) continue;
      // A download that was begun again brings the same failures: they are counted once.
      if (left.get(index) !== undefined) continue;
      const row = rows.read(start);
      if (row?.index !== index) continue;
      const result = await codec.toResult(line, { ...asked, id: row.id });
      if (isFailed(result)) {
        left.set(index, result);
        continue;
      }
      left.delete(index);
      window.push(finish({ ...row, result }));
      if (window.length >= WINDOW) {
        await Promise.all(window);
        window = [];
      }
    }
    await Promise.all(window);
  } finally {
    rows.close();
  }
}

function canRetry(error: AppError | undefined): boolean {
  return error === undefined || error.retry !== undefined;
}

function endingError(job: BatchJob | undefined): AppError {
  const why = job?.problem === undefined ? '' : `: ${job.problem.slice(0, 200)}`;
  const what =
    job === undefined
      ? 'the batch is gone'
      : job.state === 'succeeded'
        ? 'the batch has no result for this row'
        : `the batch has ${job.state}${why}`;
  return serverError('api', what, { hint: 'Ask again: --retry-failed' });
}

/** Moves the rows to ask again into a new shard, in the same write of the plan that marks this one as collected. */
async function splitRetries(shard: Shard, retries: ReadonlySet<number>, run: RemoteRun): Promise<void> {
  const { store } = run;
  const number = run.nextNumber();
  const writer = await openShardWriter(store, number, run.redact);
  try {
    for await (const { row, request } of readShard(store, shard.number)) {
      if (retries.has(row.index)) await writer.add(row, request);
    }
  } finally {
    await writer.close();
  }
  const { model, attempt, rows: before, cost } = shard;
  const { rows, bytes } = writer;
  const share = cost === undefined ? undefined : (cost * rows) / before;
  const retry: Shard = { number, model, rows, bytes, attempt: attempt + 1, state: 'planned', cost: share };
  await store.update((plan) => ({
    ...plan,
    lastNumber: Math.max(plan.lastNumber, number),
    shards: [...replaceShard(plan, shard).shards, retry],
  }));
}
