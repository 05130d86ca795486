import { type BatchJob, isRefused } from '../../core/batches.ts';
import { AppError } from '../../core/error.ts';
import { SAID_MS } from '../../core/io.ts';
import { formatDuration } from '../../core/text/format.ts';
import type { RemoteRun } from './options.ts';
import { isOfRun, replaceShard, type Shard, toDisplayName } from './plan.ts';

/** A request to create a job has ended by then, with whatever result. */
const MAX_REQUEST_MS = 15 * 60_000;
/** How often a creation that failed and left no job is tried again. */
const MAX_FAILURES = 3;

export async function saveShard({ store }: Pick<RemoteRun, 'store'>, shard: Shard): Promise<Shard> {
  await store.update((plan) => replaceShard(plan, shard));
  return shard;
}

/**
 * Brings a shard to `created`, from whichever state an earlier run left it in. No shard gets two jobs: the plan says which
 * one is about to be created, and after a failure that leaves doubt gmn looks for it in the list. Throws AppError.
 */
export async function submitShard(shard: Shard, run: RemoteRun): Promise<Shard> {
  const { service, clock, timing, signal } = run;
  const saveCreated = (current: Shard, { name }: BatchJob): Promise<Shard> =>
    saveShard(run, { ...current, state: 'created', job: name });
  let current = shard;
  if (current.state === 'creating') {
    const job = await findJob(current, run);
    if (job !== undefined) return saveCreated(current, job);
  }
  let failures = 0;
  for (let waits = 0; ; ) {
    current = await uploadShard(current, run);
    current = await saveShard(run, { ...current, state: 'creating', intentAt: clock.now() });
    try {
      const { model, file = '' } = current;
      const displayName = toDisplayName(run.store.plan.runId, current);
      return await saveCreated(current, await service.jobs.create({ model, displayName, fileName: file }, signal));
    } catch (thrown) {
      // The plan says `creating`: the next run looks for the job.
      signal.throwIfAborted();
      const error = AppError.from(thrown);
      if (error.fault !== 'api' && error.fault !== 'auth') throw error;
      if (isRefused(error)) {
        current = await saveShard(run, { ...current, state: 'uploaded' });
        if (error.details.status !== 429 || error.retry === undefined) throw error;
        if (waits === 0) run.notify(`${error.message}; gmn tries again until there is room`);
        waits += 1;
        await clock.sleep(Math.min(timing.pollMs * 1.5 ** waits, timing.maxPollMs), signal);
      } else {
        const job = await findJob({ ...current, intentAt: clock.now() }, run);
        if (job !== undefined) return saveCreated(current, job);
        failures += 1;
        if (failures >= MAX_FAILURES) {
          await saveShard(run, { ...current, state: 'uploaded' });
          throw error;
        }
      }
    }
  }
}

/** Uploads again what an earlier run uploaded: the service keeps files for two days only. Sends nothing if the file is there. */
async function uploadShard(shard: Shard, run: RemoteRun): Promise<Shard> {
  const { store, service, signal } = run;
  const name = `${toDisplayName(store.plan.runId, { ...shard, attempt: 1 })}.jsonl`;
  const file = await service.upload(store.locateRequests(shard.number).path, name, signal);
  return saveShard(run, { ...shard, state: 'uploaded', file });
}

/** The job that an earlier request may have created. Repeats until the list must contain it. */
export async function findJob(shard: Shard, run: RemoteRun): Promise<BatchJob | undefined> {
  const { service, clock, timing, signal, store } = run;
  const displayName = toDisplayName(store.plan.runId, shard);
  const now = clock.now();
  // An earlier process may have ended just now, with its request still in flight.
  const until = now - (shard.intentAt ?? 0) > MAX_REQUEST_MS ? now : now + timing.lagMs;
  let isSaid = false;
  for (;;) {
    const found: BatchJob[] = [];
    for await (const job of service.jobs.list(signal)) if (job.displayName === displayName) found.push(job);
    const [first, ...others] = found.sort((a, b) => (a.createdAt ?? 0) - (b.createdAt ?? 0));
    for (const { name } of others) {
      await service.jobs.cancel(name, signal);
      await service.jobs.delete(name, signal);
    }
    if (first !== undefined) return first;
    const leftMs = until - clock.now();
    if (leftMs <= 0) return undefined;
    if (!isSaid && leftMs > SAID_MS) {
      isSaid = true;
      run.notify(`looking for a job that may exist already, for ${formatDuration(leftMs)} at most`);
    }
    await clock.sleep(Math.min(leftMs, timing.lagMs / 6), signal);
  }
}

/** The job of a shard; undefined if it is gone. Throws AppError `usage` if it is not one of this run, whatever the plan says. */
export async function getShardJob(
  { job = '' }: Shard,
  { service, store, signal }: Pick<RemoteRun, 'service' | 'store' | 'signal'>,
): Promise<BatchJob | undefined> {
  const found = await service.jobs.get(job, signal);
  if (found === undefined || isOfRun(store.plan.runId, found)) return found;
  throw new AppError('usage', `${store.directory} names ${job}, which is not a job of this run`, {
    hint: 'Somebody else has changed that directory. To give its rows up, remove it.',
  });
}

/** As far as the service lets us. What has no name of this run stays, except the results of one of its jobs. */
export async function deleteRemote({ job, file }: Shard, { service, store, signal }: RemoteRun): Promise<void> {
  const attempt = async (step: () => Promise<unknown>): Promise<void> => {
    try {
      await step();
    } catch (thrown) {
      signal.throwIfAborted();
      if (!(thrown instanceof AppError)) throw thrown;
    }
  };
  await attempt(async () => {
    const found = job === undefined ? undefined : await service.jobs.get(job, signal);
    if (found === undefined || !isOfRun(store.plan.runId, found)) return;
    const { results } = found;
    // The job last: it says where the results are.
    if (results !== undefined && 'fileName' in results) {
      await attempt(() => service.deleteFile(results.fileName, signal));
    }
    await service.jobs.delete(found.name, signal);
  });
  await attempt(async () => {
    const found = file === undefined ? undefined : await service.getFile(file, signal);
    if (found !== undefined && isOfRun(store.plan.runId, found)) await service.deleteFile(found.name, signal);
  });
}

export function hasJobEnded({ state }: BatchJob): boolean {
  return state === 'succeeded' || state === 'failed' || state === 'cancelled' || state === 'expired';
}
