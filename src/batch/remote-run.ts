import { createNoticeCollector } from '../app/notice-collector.ts';
import type { PrintOptions, Report } from '../app/report.ts';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { JsonObject } from '../core/json.ts';
import { formatCount, plural } from '../core/text/format.ts';
import { formatNotice } from '../core/text/notice.ts';
import { createLazyRedaction } from '../engine/agent.ts';
import { readAnswerFormat } from '../engine/answer/output-schema.ts';
import { chooseRetries, type ModelOptions, openModel } from '../engine/model/model.ts';
import { type Journal, openJournal } from './output/journal.ts';
import { type RunFile, type RunPaths, readRunFile, resolveRunPaths } from './output/run-file.ts';
import { formatRowCount } from './progress.ts';
import { createAnswerCodec, locatePlan, toBatchPrices, toRemoteLimits, toRemoteTiming } from './remote/codec.ts';
import { openBatchService } from './remote/open-service.ts';
import { isInFlight } from './remote/plan.ts';
import { openPlan, type PlanStore } from './remote/plan-store.ts';
import type { RemoteOptions } from './remote/remote-engine.ts';
import { createBilledCalls, createPrices } from './requests/price.ts';

export interface RemoteRunOptions extends Pick<ModelOptions, 'auth' | 'backend' | 'retries'>, PrintOptions {
  readonly args: readonly string[];
}

export async function readRun(
  { args }: RemoteRunOptions,
  { cwd }: App,
): Promise<{ readonly paths: RunPaths; readonly run: RunFile }> {
  const paths = resolveRunPaths(args[0] ?? '', cwd);
  const run = await readRunFile(paths);
  if (run !== undefined) return { paths, run };
  throw new AppError('usage', `${args[0]} is not the output of a batch run`, {
    hint: 'Name the file that --output-file named.',
  });
}

const DEFAULT_RETRIES = 3;

export async function openService(options: RemoteRunOptions, app: App) {
  const { retries = chooseRetries(options, await app.settings()) ?? DEFAULT_RETRIES } = options;
  const { notify } = createNoticeCollector(options, app);
  const opened = await openModel(options, app, { notify });
  try {
    return { opened, service: await openBatchService(app, opened, retries) };
  } catch (thrown) {
    await opened.close();
    throw thrown;
  }
}

interface RemoteRun {
  readonly journal: Journal;
  readonly store: PlanStore;
  readonly options: Omit<RemoteOptions, 'mode'>;
}

/** Opens the output and the jobs of a run for `work`; calls `none` instead if nothing is in flight. */
export async function withRemoteRun<Result>(
  options: RemoteRunOptions,
  app: App,
  work: (run: RemoteRun) => Promise<Result>,
  none: (paths: RunPaths) => Promise<Result>,
): Promise<Result> {
  const { paths, run } = await readRun(options, app);
  const store = await openPlan(locatePlan(paths, app));
  try {
    if (store?.plan.runId !== run.runId) return await none(paths);
    return await withService(options, app, { paths, run, store }, work);
  } finally {
    await store?.close();
  }
}

async function withService<Result>(
  options: RemoteRunOptions,
  app: App,
  { paths, run, store }: { readonly paths: RunPaths; readonly run: RunFile; readonly store: PlanStore },
  work: (run: RemoteRun) => Promise<Result>,
): Promise<Result> {
  const { opened, service } = await openService(options, app);
  try {
    const { settings, input } = run;
    const { clock, signal } = app;
    const { redact } = createLazyRedaction(app);
    const calls = createBilledCalls();
    const notify = (message: string): void => {
      if (!options.quiet && !options.json) void app.io.err.write(formatNotice(message, app.io.err));
    };
    const journal = await openJournal({ paths, settings, input, restarts: false, redact, notify, clock, signal });
    try {
      const { schema } = store.plan.settings;
      const format = schema === undefined ? undefined : await readAnswerFormat(JSON.stringify(schema), app);
      const prices = toBatchPrices(await createPrices(app));
      const codec = createAnswerCodec(format?.schema, { prices, onCall: calls.add, clock });
      return await work({
        journal,
        store,
        options: {
          ...{ store, service, clock, redact },
          codec: { ...codec, prepare: refuseRows },
          limits: toRemoteLimits({}),
          timing: toRemoteTiming(opened.retryBaseMs, false),
          notify,
        },
      });
    } finally {
      calls.save(app, journal.runId);
      await journal.close();
    }
  } finally {
    await opened.close();
  }
}

function refuseRows(): never {
  throw new AppError('internal', 'no rows are asked here');
}

export function formatJobs(rows: number, jobs: number): string {
  return `${formatRowCount(rows)} in ${plural(jobs, 'batch job')}`;
}

export function reportRun(output: string, counts: Journal['counts'], store: PlanStore | undefined): Report {
  const shards = store?.plan.shards.filter(isInFlight) ?? [];
  const inFlight = shards.reduce((sum, { rows }) => sum + rows, 0);
  const { ok, failed } = counts;
  const json: JsonObject = { output, ok, failed, inFlight, jobs: shards.length };
  const lines = [
    `${formatRowCount(ok)} answered, ${formatCount(failed)} failed${failed > 0 ? `: see "error" in ${output}` : ''}`,
    ...(inFlight > 0 ? [formatJobs(inFlight, shards.length)] : []),
  ];
  return { text: `${lines.join('\n')}\n`, json, notices: [] };
}

/** Removes a plan without jobs. Returns a notice if rows of the input are in no job yet. */
export async function closePlan(store: PlanStore): Promise<readonly string[]> {
  const { shards, isComplete } = store.plan;
  if (shards.length === 0) await store.remove();
  return isComplete ? [] : ['the input was not read to its end: run gmn batch as before to ask the rest'];
}
