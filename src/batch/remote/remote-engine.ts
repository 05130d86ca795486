import type { BatchJob, BatchState } from '../../core/batches.ts';
import { AppError } from '../../core/error.ts';
import { plural } from '../../core/text/format.ts';
import { type Condition, createCondition } from '../../platform/runtime/condition.ts';
import { createIdTable, type IdTable } from '../output/id-table.ts';
import type { Engine, EngineRun } from '../rows/row-engine.ts';
import { collectShard } from './collect.ts';
import { deleteRemote, getShardJob, hasJobEnded, saveShard, submitShard } from './jobs.ts';
import { createRemoteRun, type RemoteOptions, type RemoteRun } from './options.ts';
import { isInFlight, type Shard } from './plan.ts';
import type { PlanStore } from './plan-store.ts';
import { readShardRows } from './shard-file.ts';
import { budgetError, createSharder, fitsBudget, unknownPriceError } from './sharder.ts';

/** Rows become shards beside the output, and shards jobs. The plan is written before every step that a crash could leave half done. */
export function createRemoteEngine(options: RemoteOptions): Engine {
  return {
    async run(run) {
      const stop = new AbortController();
      const signal = AbortSignal.any([run.signal, stop.signal]);
      const shared = createShared(options, createRemoteRun(options, { ...run, signal }));
      await dropCollected(shared);
      const submitting = submitRows(shared, run.rows);
      const watching = watchJobs(shared);
      try {
        await Promise.all([submitting, watching]);
      } catch (thrown) {
        stop.abort(thrown);
        await Promise.allSettled([submitting, watching]);
        if (options.store.plan.shards.length === 0) await options.store.remove();
        throw thrown;
      }
    },
  };
}

/** Shared by `submitRows`, which fills shards and creates jobs, and `watchJobs`, which collects them. */
interface Shared extends RemoteRun, Pick<RemoteOptions, 'mode'> {
  /** Creates the job of a shard, unless this is already being done. */
  readonly submit: (shard: Shard) => Promise<void>;
  /** A job was created, or all rows are in jobs. */
  readonly created: Condition;
  /** A job is no longer in flight. */
  readonly freed: Condition;
  hasSubmittedAll: boolean;
  /** Why a job could not be polled; reported once, until one can be. */
  lastProblem: string | undefined;
}

function createShared(options: RemoteOptions, run: RemoteRun): Shared {
  const submitting = new Set<number>();
  const created = createCondition();
  return {
    ...run,
    mode: options.mode,
    created,
    freed: createCondition(),
    hasSubmittedAll: false,
    lastProblem: undefined,
    async submit(shard) {
      if (submitting.has(shard.number)) return;
      submitting.add(shard.number);
      await submitShard(shard, run);
      created.notifyAll();
    },
  };
}

/** Must come first: a shard that is asked again may have the same file as the one it comes from. */
async function dropCollected(shared: Shared): Promise<void> {
  const { store } = shared;
  await store.prune();
  for (const shard of store.plan.shards) if (shard.state === 'collected') await dropShard(shard, shared);
}

async function dropShard(shard: Shard, shared: Shared): Promise<void> {
  await deleteRemote(shard, shared);
  await shared.store.drop(shard.number);
  shared.freed.notifyAll();
}

async function submitRows(shared: Shared, rows: EngineRun['rows']): Promise<void> {
  const { store, signal, submit, mode } = shared;
  for (const shard of store.plan.shards) await resumeShard(shard, shared);
  if (mode === 'run') {
    const planned = await readPlannedIds(store);
    const sharder = createSharder({ run: shared, submit, waitForRoom: () => shared.freed.wait(signal) });
    try {
      for (let next = await rows.next(); !next.done; next = await rows.next()) {
        if (planned.get(next.value.id) === 0) await sharder.add(next.value);
      }
      await sharder.finish();
    } finally {
      await sharder.close();
    }
    // When the run stops, the rows end before the input does.
    signal.throwIfAborted();
    if (!store.plan.isComplete) await store.update((plan) => ({ ...plan, isComplete: true }));
  }
  shared.hasSubmittedAll = true;
  shared.created.notifyAll();
}

async function resumeShard(shard: Shard, shared: Shared): Promise<void> {
  const { submit, mode } = shared;
  if (shard.state === 'created' || shard.state === 'collected') return;
  // Its job may exist and cost already.
  if (shard.state === 'creating') return submit(shard);
  if (shard.state === 'cancelled' && mode !== 'run') return;
  await waitForBudget(shard, shared);
  if (shard.state !== 'cancelled') return submit(shard);
  await deleteRemote(shard, shared);
  const { job: _job, ...rest } = shard;
  // A new attempt gives the job another name than the cancelled one has.
  await submit(await saveShard(shared, { ...rest, state: 'planned', attempt: shard.attempt + 1 }));
}

/** An earlier run had a budget of its own. Throws AppError `limit` if this one never covers the shard. */
async function waitForBudget(shard: Shard, { store, budget, freed, signal }: Shared): Promise<void> {
  if (budget === undefined) return;
  if (shard.cost === undefined) throw unknownPriceError(shard.model);
  // What is planned counts as in flight.
  const more = isInFlight(shard) ? 0 : shard.cost;
  while (!fitsBudget(more, store.plan, budget)) {
    if (!store.plan.shards.some(({ state }) => state === 'created')) throw budgetError(shard, budget);
    await freed.wait(signal);
  }
}

async function readPlannedIds(store: PlanStore): Promise<IdTable> {
  const ids = createIdTable();
  for (const { number } of store.plan.shards) {
    for await (const { id } of readShardRows(store, number)) ids.set(id, 1);
  }
  return ids;
}

async function watchJobs(shared: Shared): Promise<void> {
  const { store, timing, mode, onStatus } = shared;
  for (let delayMs = timing.pollMs; ; ) {
    const sawAll = shared.hasSubmittedAll;
    const states = new Map<BatchState, number>();
    let hasChanged = false;
    for (const shard of store.plan.shards) {
      if (shard.state !== 'created') continue;
      const job = await pollBatchJob(shard, shared);
      if (job === 'later') continue;
      const { state } = job ?? { state: 'unknown' };
      states.set(state, (states.get(state) ?? 0) + 1);
      if (job !== undefined && !hasJobEnded(job)) continue;
      hasChanged = true;
      await endShard(shard, job, shared);
    }
    const active = store.plan.shards.filter(isInFlight);
    onStatus?.({ jobs: active.length, rows: active.reduce((sum, { rows }) => sum + rows, 0), states });
    throwIfOverBudget(active, shared);
    if (shared.hasSubmittedAll && (active.length === 0 || (mode === 'once' && sawAll))) break;
    if (hasChanged) delayMs = timing.pollMs;
    await pauseBetweenPolls(delayMs, shared);
    if (!hasChanged) delayMs = Math.min(delayMs * 1.5, timing.maxPollMs);
  }
  const cancelled = store.plan.shards.filter(({ state }) => state === 'cancelled');
  if (cancelled.length > 0) throw cancelledError(cancelled);
}

/** Undefined if the job is gone; `later` if the service cannot be reached: jobs keep running while this machine is offline. */
async function pollBatchJob(shard: Shard, shared: Shared): Promise<BatchJob | undefined | 'later'> {
  const { signal, mode, notify } = shared;
  try {
    const job = await getShardJob(shard, shared);
    shared.lastProblem = undefined;
    return job;
  } catch (thrown) {
    signal.throwIfAborted();
    const error = AppError.from(thrown);
    if (error.fault !== 'api' || error.retry === undefined || mode === 'once') throw error;
    if (shared.lastProblem !== error.message) {
      notify(`${error.message}; the jobs keep running, and gmn checks again later`);
    }
    shared.lastProblem = error.message;
    return 'later';
  }
}

async function endShard(shard: Shard, job: BatchJob | undefined, shared: Shared): Promise<void> {
  const { store, notify, submit } = shared;
  if (job?.state === 'cancelled') {
    await saveShard(shared, { ...shard, state: 'cancelled' });
    shared.freed.notifyAll();
    return;
  }
  if (job?.state === 'failed' || job?.state === 'expired') notify(`${job.name} has ${job.state}`);
  await collectShard(shard, job, shared);
  const after = store.plan.shards.find(({ number }) => number === shard.number);
  if (after !== undefined) await dropShard(after, shared);
  for (const other of store.plan.shards) {
    if (isRetry(other) && fitsBudget(0, store.plan, shared.budget)) await submit(other);
  }
}

/** Rows to ask again, which no job has yet. */
function isRetry({ state, attempt }: Shard): boolean {
  return state === 'planned' && attempt > 1;
}

/** Throws if only retries are left and the budget does not cover them: no other job will end and free some of it. */
function throwIfOverBudget(active: readonly Shard[], { store, budget }: Shared): void {
  const [first] = active;
  if (first === undefined || !active.every(isRetry) || fitsBudget(0, store.plan, budget)) return;
  throw budgetError(first, budget);
}

async function pauseBetweenPolls(
  delayMs: number,
  { clock, signal, store, mode, created, hasSubmittedAll }: Shared,
): Promise<void> {
  if (hasSubmittedAll && mode === 'once') return;
  if (store.plan.shards.some(({ state }) => state === 'created')) await clock.sleep(delayMs, signal);
  else if (!hasSubmittedAll) await created.wait(signal);
}

function cancelledError(shards: readonly Shard[]): AppError {
  const rows = shards.reduce((sum, shard) => sum + shard.rows, 0);
  const what = shards.length === 1 ? 'a batch job was' : `${shards.length} batch jobs were`;
  return new AppError('api', `${what} cancelled by somebody else: ${plural(rows, 'row')} without an answer`, {
    hint: 'Run the same command again to ask them again.',
  });
}
