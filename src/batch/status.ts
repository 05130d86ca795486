import { formatTable, printReport } from '../app/report.ts';
import type { App } from '../core/app.ts';
import type { BatchJob } from '../core/batches.ts';
import { formatAge } from '../core/text/format.ts';
import { sanitize } from '../core/text/terminal.ts';
import { readCounts } from './output/journal.ts';
import { formatRowCount } from './progress.ts';
import { locatePlan } from './remote/codec.ts';
import { getShardJob } from './remote/jobs.ts';
import { isInFlight, type Shard } from './remote/plan.ts';
import { openPlan, type PlanStore } from './remote/plan-store.ts';
import { openService, type RemoteRunOptions, readRun, reportRun } from './remote-run.ts';

/** Shows how a run stands: its output, and its batch jobs as the service sees them. Changes nothing. */
export async function showRun(options: RemoteRunOptions, app: App): Promise<number> {
  const { paths } = await readRun(options, app);
  const counts = await readCounts(paths);
  const store = await openPlan(locatePlan(paths, app));
  await store?.close();
  const report = reportRun(paths.named, counts, store);
  const jobs = store?.plan.shards.some(isInFlight) ? await lookUp(store, options, app) : [];
  const json = {
    ...report.json,
    runId: store?.plan.runId,
    isComplete: store?.plan.isComplete,
    jobs: jobs.map(({ shard, state, job }) => ({
      shard: shard.number,
      rows: shard.rows,
      attempt: shard.attempt,
      state,
      name: shard.job,
      createdAt: job?.createdAt === undefined ? undefined : new Date(job.createdAt).toISOString(),
    })),
  };
  const now = app.clock.now();
  const table = formatTable(
    jobs.map(({ shard, state, job }) => [
      sanitize(shard.job ?? `shard ${shard.number}`),
      sanitize(state),
      formatRowCount(shard.rows),
      job?.createdAt === undefined ? '' : formatAge(job.createdAt, now),
    ]),
  );
  await printReport({ ...report, text: `${report.text}${table}`, json }, options, app);
  return 0;
}

interface ShardState {
  readonly shard: Shard;
  /** That of the job; `planned`, `uploaded` or `creating` while no job is known. */
  readonly state: string;
  readonly job?: BatchJob;
}

async function lookUp(store: PlanStore, options: RemoteRunOptions, app: App): Promise<readonly ShardState[]> {
  const { opened, service } = await openService(options, app);
  try {
    const states: ShardState[] = [];
    for (const shard of store.plan.shards.filter(isInFlight)) {
      if (shard.job === undefined) states.push({ shard, state: shard.state });
      else {
        const job = await getShardJob(shard, { store, service, signal: app.signal });
        states.push({ shard, state: job?.state ?? 'gone', job });
      }
    }
    return states;
  } finally {
    await opened.close();
  }
}
