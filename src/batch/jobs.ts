import { createNoticeCollector } from '../app/notice-collector.ts';
import { formatTable, type PrintOptions, printReport, type Report } from '../app/report.ts';
import type { App } from '../core/app.ts';
import { AppError, FAULTS } from '../core/error.ts';
import type { JsonObject } from '../core/json.ts';
import { formatAge, formatCount, plural } from '../core/text/format.ts';
import { formatNotice } from '../core/text/notice.ts';
import { sanitize } from '../core/text/terminal.ts';
import { createLazyRedaction } from '../engine/agent.ts';
import { readAnswerFormat } from '../engine/answer/output-schema.ts';
import { openModel } from '../engine/model/model.ts';
import type { ModelSetup } from '../engine/model/setup.ts';
import { keepHeapSmall } from '../platform/runtime/native.ts';
import { openJournal, type RowCounts, readCounts } from './output/journal.ts';
import { type RunFile, type RunPaths, readRunFile, resolveRunPaths } from './output/run-file.ts';
import { formatRowCount } from './progress.ts';
import { createResultReader } from './remote/codec.ts';
import { getShardJob } from './remote/jobs.ts';
import { DEFAULT_LIMITS, type RemoteOptions, type RemoteStatus, toRemoteTiming } from './remote/options.ts';
import { isInFlight } from './remote/plan.ts';
import { locatePlan, openPlan, type PlanStore } from './remote/plan-store.ts';
import { createRemoteEngine } from './remote/remote-engine.ts';
import { openBatchService } from './remote/service.ts';
import { settleRemote } from './remote/settle.ts';
import { chooseRowRetries } from './requests/batch-setup.ts';
import { BatchCosts } from './requests/costs.ts';
import type { EngineRun } from './rows/row-engine.ts';

export interface JobOptions extends Pick<ModelSetup, 'auth' | 'backend' | 'retries'>, PrintOptions {
  readonly args: readonly string[];
}

/** Shows how a run stands: its output, and its batch jobs as the service sees them. Changes nothing. */
export async function showRun(options: JobOptions, app: App): Promise<number> {
  const { paths } = await readRun(options, app);
  const counts = await readCounts(paths);
  const store = await openPlan(locatePlan(paths, app));
  await store?.close();
  const report = reportRun(paths, counts, store);
  const jobs = store?.plan.shards.some(isInFlight) ? await lookUpJobs(store, options, app) : [];
  const json = {
    ...report.json,
    runId: store?.plan.runId,
    isComplete: store?.plan.isComplete,
    jobs: jobs.map(({ shard, state, createdAt }) => ({
      shard: shard.number,
      rows: shard.rows,
      attempt: shard.attempt,
      state,
      name: shard.job,
      createdAt: createdAt === undefined ? undefined : new Date(createdAt).toISOString(),
    })),
  };
  const now = app.clock.now();
  const table = formatTable(
    jobs.map(({ shard, state, createdAt }) => [
      sanitize(shard.job ?? `shard ${shard.number}`),
      sanitize(state),
      formatRowCount(shard.rows),
      createdAt === undefined ? '' : formatAge(createdAt, now),
    ]),
  );
  return printReport({ ...report, text: `${report.text}${table}`, json }, options, app);
}

/** The state is that of the job; `planned`, `uploaded` or `creating` while no job is known. */
async function lookUpJobs(store: PlanStore, options: JobOptions, app: App) {
  const { opened, service } = await openService(options, app);
  try {
    const jobs = [];
    for (const shard of store.plan.shards.filter(isInFlight)) {
      const job = shard.job && (await getShardJob(shard, { store, service, signal: app.signal }));
      if (job) jobs.push({ shard, state: job.state, createdAt: job.createdAt });
      else jobs.push({ shard, state: shard.job === undefined ? shard.state : 'gone' });
    }
    return jobs;
  } finally {
    await opened.close();
  }
}

/** Collects the results of the batch jobs of a run as they end, or `once`: what is ready now. */
export async function collectJobs(options: JobOptions, app: App, mode: 'wait' | 'once'): Promise<number> {
  keepHeapSmall();
  return withJobs(options, app, async (paths, run) => {
    let last = 0;
    const onStatus = ({ jobs, rows }: RemoteStatus): void => {
      if (jobs > 0 && jobs !== last) run?.remote.notify(formatJobs(rows, jobs));
      last = jobs;
    };
    if (run !== undefined) await createRemoteEngine({ ...run.remote, mode, onStatus }).run({ ...run, rows: noRows() });
    const counts = run?.counts ?? (await readCounts(paths));
    const report = reportRun(paths, counts, run?.remote.store);
    await printReport({ ...report, notices: run && (await closePlan(run.remote.store)) }, options, app);
    return counts.failed > 0 ? FAULTS.api.exitCode : 0;
  });
}

async function* noRows(): AsyncGenerator<never, void> {}

/** Removes a plan without jobs. Returns a notice if rows of the input are in no job yet. */
async function closePlan(store: PlanStore): Promise<readonly string[]> {
  const { shards, isComplete } = store.plan;
  if (shards.length === 0) await store.remove();
  return isComplete ? [] : ['the input was not read to its end: run gmn batch as before to ask the rest'];
}

/** Cancels the batch jobs of a run; what is complete by then is collected, since it is paid for. */
export async function cancelJobs(options: JobOptions, app: App): Promise<number> {
  return withJobs(options, app, async (paths, run) => {
    const { cancelled, collected } = run === undefined ? NONE : await settleRemote(run.remote, run);
    const report = reportRun(paths, run?.counts ?? (await readCounts(paths)));
    const outcome =
      run === undefined
        ? 'No batch jobs are in flight.'
        : `${cancelled} batch jobs cancelled, ${collected} were complete and are collected`;
    return printReport(
      { text: `${outcome}\n${report.text}`, json: { ...report.json, cancelled, collected } },
      options,
      app,
    );
  });
}

const NONE = { cancelled: 0, collected: 0 };

async function readRun(
  { args }: JobOptions,
  { cwd }: App,
): Promise<{ readonly paths: RunPaths; readonly file: RunFile }> {
  const paths = resolveRunPaths(args[0] ?? '', cwd);
  const file = await readRunFile(paths);
  if (file !== undefined) return { paths, file };
  throw new AppError('usage', `${args[0]} is not the output of a batch run`, {
    hint: 'Name the file that --output-file named.',
  });
}

async function openService(options: JobOptions, app: App) {
  const retries = await chooseRowRetries(options, app);
  const { notify } = createNoticeCollector(options, app);
  const opened = await openModel(options, app, { notify });
  try {
    return { opened, service: await openBatchService(app, opened, retries) };
  } catch (thrown) {
    await opened.close();
    throw thrown;
  }
}

interface RunWithJobs extends Omit<EngineRun, 'rows'> {
  readonly counts: RowCounts;
  readonly remote: Omit<RemoteOptions, 'mode'>;
}

/** Opens the output and the jobs of a run for `work`, or only its paths if nothing is in flight. */
async function withJobs<Result>(
  options: JobOptions,
  app: App,
  work: (paths: RunPaths, run?: RunWithJobs) => Promise<Result>,
): Promise<Result> {
  const { paths, file } = await readRun(options, app);
  const store = await openPlan(locatePlan(paths, app));
  try {
    if (store?.plan.runId !== file.runId) return await work(paths);
    const { opened, service } = await openService(options, app);
    try {
      const { clock, signal } = app;
      const { redact } = createLazyRedaction(app);
      const notify = (message: string): void => {
        if (!options.quiet && !options.json) void app.io.err.write(formatNotice(message, app.io.err));
      };
      const costs = await BatchCosts.open(app);
      const journal = await openJournal({
        paths,
        settings: file.settings,
        input: file.input,
        restarts: false,
        redact,
        notify,
        clock,
        signal,
      });
      try {
        const { schema } = store.plan.settings;
        const format = schema === undefined ? undefined : await readAnswerFormat(JSON.stringify(schema), app);
        return await work(paths, {
          finish: journal.write,
          sync: journal.sync,
          signal,
          counts: journal.counts,
          remote: {
            store,
            service,
            codec: { toResult: createResultReader(format?.schema, costs, clock), prepare: refuseRows },
            redact,
            limits: DEFAULT_LIMITS,
            timing: toRemoteTiming(opened.retryBaseMs, false),
            clock,
            notify,
          },
        });
      } finally {
        costs.save(journal.runId);
        await journal.close();
      }
    } finally {
      await opened.close();
    }
  } finally {
    await store?.close();
  }
}

function refuseRows(): never {
  throw new AppError('internal', 'no rows are asked here');
}

function formatJobs(rows: number, jobs: number): string {
  return `${formatRowCount(rows)} in ${plural(jobs, 'batch job')}`;
}

function reportRun({ named: output }: RunPaths, { ok, failed }: RowCounts, store?: PlanStore): Report {
  const shards = store?.plan.shards.filter(isInFlight) ?? [];
  const inFlight = shards.reduce((sum, { rows }) => sum + rows, 0);
  const json: JsonObject = { output, ok, failed, inFlight, jobs: shards.length };
  const hint = failed > 0 ? `: see "error" in ${output}` : '';
  const jobs = inFlight > 0 ? `${formatJobs(inFlight, shards.length)}\n` : '';
  return { text: `${formatRowCount(ok)} answered, ${formatCount(failed)} failed${hint}\n${jobs}`, json };
}
