import type { BatchJob } from '../../core/batches.ts';
import type { EngineRun } from '../rows/row-engine.ts';
import { collectShard } from './collect.ts';
import { deleteRemote, findJob, getShardJob, hasJobEnded, saveShard } from './jobs.ts';
import { createRemoteRun, type RemoteOptions, type RemoteRun } from './options.ts';
import type { Shard } from './plan.ts';

/**
 * Ends all jobs: those that are complete are collected, the others cancelled, and their rows left for another run or engine.
 * Returns how many jobs were cancelled and collected. The plan is gone when this resolves. Throws AppError; the plan then has the jobs that are left.
 */
export async function settleRemote(options: Omit<RemoteOptions, 'mode'>, run: Omit<EngineRun, 'rows'>) {
  const { store } = options;
  const remote = createRemoteRun(options, run);
  let cancelled = 0;
  let collected = 0;
  for (const shard of store.plan.shards) {
    const current = await findCreated(shard, remote);
    if (current.state === 'created') {
      const job = await endJob(current, remote);
      await collectShard(current, job, remote, 'leave');
      if (job?.state === 'cancelled') cancelled += 1;
      else collected += 1;
    }
    const last = store.plan.shards.find(({ number }) => number === shard.number) ?? current;
    await deleteRemote(last, remote);
    await store.drop(shard.number);
  }
  await store.remove();
  return { cancelled, collected };
}

async function findCreated(shard: Shard, run: RemoteRun): Promise<Shard> {
  const found = shard.state === 'creating' ? await findJob(shard, run) : undefined;
  return found === undefined ? shard : saveShard(run, { ...shard, state: 'created', job: found.name });
}

/** Cancels a job that has not ended, and waits for its end. Undefined if it is gone. */
async function endJob(shard: Shard, run: RemoteRun): Promise<BatchJob | undefined> {
  const { service, clock, timing, signal } = run;
  let job = await getShardJob(shard, run);
  if (job === undefined || hasJobEnded(job)) return job;
  await service.jobs.cancel(job.name, signal);
  for (let delayMs = timing.pollMs / 10; ; delayMs = Math.min(2 * delayMs, timing.maxPollMs)) {
    job = await getShardJob(shard, run);
    if (job === undefined || hasJobEnded(job)) return job;
    await clock.sleep(delayMs, signal);
  }
}
