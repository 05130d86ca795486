import { estimateBatch } from '../../app/batch/estimate.ts';
import { type ComputeCost, createBilledCalls, createPrices } from '../../app/batch/price.ts';
import { openProgressLine, type ProgressLine } from '../../app/batch/progress-line.ts';
import { toBatchPrices } from '../../app/batch/remote.ts';
import { type BatchOptions, type BatchSetup, openBatch } from '../../app/batch/setup.ts';
import { createRowSource, peekRows, type Source, type SourceOptions } from '../../app/batch/source.ts';
import { type PrintOptions, printReport } from '../../app/report.ts';
import { type Journal, openJournal } from '../../batch/journal.ts';
import { formatMoney, formatRowCount } from '../../batch/progress.ts';
import { unknownPriceError } from '../../batch/remote/sharder.ts';
import { isFailed } from '../../batch/result.ts';
import type { Row } from '../../batch/row.ts';
import { type RunCounts, runRows } from '../../batch/run.ts';
import { type RunPaths, resolveRunPaths } from '../../batch/run-file.ts';
import { sampleRows } from '../../batch/sample.ts';
import type { App } from '../../core/app.ts';
import { AppError, FAULTS } from '../../core/error.ts';
import type { JsonObject } from '../../core/json.ts';
import { formatCount, formatDuration } from '../../core/text/format.ts';
import { quoteIfNeeded } from '../../core/text/quote.ts';
import { addUsage, type BilledCall, NO_USAGE, type Usage } from '../../core/usage.ts';
import { type Budget, openBudget } from '../../engine/budget.ts';
import { findNamedFile } from '../../input/named-file.ts';
import { countLines } from '../../platform/files/chunks.ts';
import { pathExists } from '../../platform/files/path.ts';
import { createAbortable, onAbort } from '../../platform/runtime/abort.ts';
import { keepHeapSmall } from '../../platform/runtime/native.ts';
import { checkEngine, type EngineOptions, type OpenedEngine, openEngine } from './engine.ts';

interface BatchCommandOptions extends BatchOptions, SourceOptions, PrintOptions, EngineOptions {
  readonly outputFile?: string;
  readonly limit?: number;
  readonly sample?: number;
  readonly estimate?: boolean;
  readonly retryFailed?: boolean;
  readonly restart?: boolean;
}

/** Asks every row of an input, and writes one line for each to the output, which a later run goes on with. */
export async function run(options: BatchCommandOptions, app: App): Promise<number> {
  checkNumbers(options);
  checkEngine(options);
  for (const input of options.args) if (input !== '-') await findNamedFile(input, app);
  const source = createRowSource(options, app);
  if (options.estimate) return runEstimate(options, app, source);
  const paths = requireOutput(options, app);
  keepHeapSmall();
  const stop = createAbortable();
  const prices = await createPrices(app, options);
  const calls = createBilledCalls(options);
  let cost: number | undefined;
  const onCall = (call: BilledCall): void => {
    calls.add(call);
    const paid = prices.sum([call]);
    if (paid !== undefined) cost = (cost ?? 0) + paid;
  };
  const reported = new Set<string>();
  let line: ProgressLine | undefined;
  const isQuiet = (options.quiet || options.json) ?? false;
  const early: string[] = [];
  const onNotice = (message: string, isUrgent = false): void => {
    if (reported.has(message) || reported.size >= MAX_NOTICES) return;
    reported.add(message);
    if (line !== undefined) line.notify(message);
    else if (isUrgent && !isQuiet) void app.io.err.write(`gmn: ${message}\n`);
    else early.push(message);
  };
  const budget = await openLocalBudget(options, app);
  const setup = await openBatch(options, app, { prices, budget, onCall, onNotice, signal: app.signal });
  try {
    const { firstRow, rows } = await openRows(options, source, setup, app);
    if (options.maxCost !== undefined && budget === undefined) requirePrice(prices.estimate, setup.opened.modelId);
    const journal = await openJournal({
      ...{ paths, settings: setup.settings, clock: app.clock, signal: app.signal },
      input: { name: source.name, firstRow },
      restarts: options.restart ?? false,
      redact: setup.redact,
    });
    const unregister = app.onExit(() => journal.flushNow());
    const stats = createRunStats(journal, () => cost);
    let opened: OpenedEngine | undefined;
    try {
      line = openProgressLine(app.io.err, {
        clock: app.clock,
        isQuiet,
        state: () => ({ ...stats.state(), ...opened?.state() }),
      });
      early.forEach(line.notify);
      countTotal(options, source, stop.signal).then(stats.setTotal, () => {});
      const stopListening = onAbort(app.signal, () =>
        windDown(app.signal, (reason) => stop.abort(reason), opened?.isRemote ? undefined : line),
      );
      const begunAt = app.clock.now();
      let counts: RunCounts | undefined;
      try {
        const notify = (message: string): void => line?.notify(message);
        opened = await openEngine(options, { app, setup, journal, prices, onCall, notify });
        counts = await runRows({
          ...{ rows, journal, engine: opened.engine, limit: options.limit },
          retriesFailed: options.retryFailed ?? false,
          isOrdered: options.ordered ?? false,
          drainSignal: app.signal,
          signal: stop.signal,
          onFinished: (row) => {
            stats.add(row.result);
            line?.add();
          },
        });
        if (counts.isComplete) await opened.end();
        if (counts.isComplete && isWholeInput(options, source, journal)) journal.forgetOthers();
      } catch (thrown) {
        throw opened?.isRemote ? addWaitHint(thrown, journal) : thrown;
      } finally {
        stopListening();
        stop.abort(new AppError('interrupted', 'the run is over'));
        line.end();
        calls.save(app, journal.runId);
        await opened?.close();
        await journal.close();
        if (counts === undefined) await reportStop(options, journal, app);
      }
      if (!counts.isComplete) {
        await reportStop(options, journal, app);
        throw AppError.from(app.signal.reason).with({ hint: RESUME_HINT });
      }
      await report(options, { counts, journal, stats, ms: app.clock.now() - begunAt }, app);
      return journal.countClaimed().failed > 0 ? FAULTS.api.exitCode : 0;
    } finally {
      unregister();
    }
  } finally {
    await setup.close();
  }
}

/** Jobs are paid for as a whole, so their engine has a budget of its own. */
async function openLocalBudget({ engine, maxCost }: BatchCommandOptions, app: App): Promise<Budget | undefined> {
  if (maxCost === undefined || engine === 'api') return undefined;
  const hint = 'Run the same command with a higher --max-cost: it continues where it stopped.';
  return openBudget({ maxCost, hint }, app);
}

const RESUME_HINT = 'Run the same command again: it continues where it stopped.';

const MAX_NOTICES = 100;

/**
 * Ctrl+C lets what is in flight finish; the second one ends the process. Other signals end it at once, and so does Ctrl+C
 * without a `line`: what is in flight goes on elsewhere.
 */
function windDown({ reason }: AbortSignal, stop: (reason: unknown) => void, line: ProgressLine | undefined): void {
  if (line === undefined || AppError.from(reason).fault !== 'interrupted') stop(reason);
  else line.notify('finishing what is in flight; Ctrl+C again to stop at once');
}

/** Batch jobs go on at the service after gmn is stopped. */
function addWaitHint(thrown: unknown, { paths }: Journal): unknown {
  if (!(thrown instanceof AppError) || !STOPS.includes(thrown.fault)) return thrown;
  return thrown.with({
    hint: `The batch jobs keep running. To wait for them: gmn batch wait ${quoteIfNeeded(paths.output)}`,
  });
}

const STOPS: readonly AppError['fault'][] = ['interrupted', 'terminated', 'hangup'];

async function openRows(
  { sample }: BatchCommandOptions,
  source: Source,
  { isPromptNeeded }: BatchSetup,
  app: App,
): Promise<{ readonly firstRow: string; readonly rows: AsyncIterable<Row> }> {
  const peeked = await peekRows(source.open({ isPromptNeeded, signal: app.signal }));
  if (sample === undefined) return peeked;
  return { ...peeked, rows: toIterable((await sampleRows(peeked.rows, sample)).sample) };
}

async function* toIterable(rows: readonly Row[]): AsyncGenerator<Row, void> {
  yield* rows;
}

/** Whether the run has looked at all rows that the output is for. */
function isWholeInput({ limit, sample }: BatchCommandOptions, { name }: Source, { paths }: Journal): boolean {
  return limit === undefined && sample === undefined && name !== paths.failed;
}

/** Undefined if counting the rows would take long. */
async function countTotal(
  { limit, sample }: BatchCommandOptions,
  source: Source,
  signal: AbortSignal,
): Promise<number | undefined> {
  const most = Math.min(limit ?? Number.POSITIVE_INFINITY, sample ?? Number.POSITIVE_INFINITY);
  if (!source.hasLineRows) return Number.isFinite(most) ? most : undefined;
  return Math.min(most, await countLines(source.name, signal));
}

async function runEstimate(options: BatchCommandOptions, app: App, source: Source): Promise<number> {
  const usual = await createPrices(app, options);
  const prices = options.engine === 'api' ? toBatchPrices(usual) : usual;
  const reported = new Set<string>();
  const setup = await openBatch(options, app, {
    ...{ prices, onCall: () => {}, signal: app.signal },
    onNotice: (message) => reported.add(message),
  });
  try {
    const rows = source.open({ isPromptNeeded: setup.isPromptNeeded, signal: app.signal });
    const report = await estimateBatch(rows, {
      setup,
      app,
      price: prices.estimate,
      limit: options.limit ?? options.sample,
    });
    await printReport({ ...report, notices: [...reported] }, options, app);
    return 0;
  } finally {
    await setup.close();
  }
}

function requireOutput({ outputFile }: BatchCommandOptions, { cwd }: App): RunPaths {
  if (outputFile) return resolveRunPaths(outputFile, cwd);
  throw new AppError('usage', 'gmn batch needs --output-file: a later run continues from that file', {
    hint: 'Example: gmn batch questions.jsonl --output-file answers.jsonl',
  });
}

function requirePrice(price: ComputeCost, model: string): void {
  if (price({ promptTokenCount: 1, candidatesTokenCount: 1 }, model) === undefined) throw unknownPriceError(model);
}

function checkNumbers(options: BatchCommandOptions): void {
  const { concurrency, rpm, tpm, limit, sample } = options;
  for (const [name, value] of Object.entries({ concurrency, rpm, tpm, limit, sample })) {
    if (value === undefined || (value >= 1 && value <= Number.MAX_SAFE_INTEGER)) continue;
    throw new AppError('usage', `--${name}: ${value} is out of range`, { hint: 'It must be 1 or more.' });
  }
  if (concurrency !== undefined && concurrency > MAX_CONCURRENCY) {
    throw new AppError('usage', `--concurrency: ${concurrency} is out of range`, {
      hint: `At most ${MAX_CONCURRENCY} requests at once are possible.`,
    });
  }
  if (options.maxCost !== undefined && !(options.maxCost > 0)) {
    throw new AppError('usage', `--max-cost: ${options.maxCost} is out of range`, { hint: 'Example: --max-cost 5' });
  }
  if (options.restart && options.retryFailed) {
    throw new AppError('usage', '--restart and --retry-failed exclude each other', { hint: 'Use one of them.' });
  }
}

const MAX_CONCURRENCY = 2000;

/** What this run has done so far. `paid` is the cost of all its calls, also those of rows that failed. */
function createRunStats(journal: Journal, paid: () => number | undefined) {
  let total: number | undefined;
  let usage: Usage = NO_USAGE;
  let answered = 0;
  let failed = 0;
  return {
    setTotal(count: number | undefined) {
      total = count;
    },
    add(result: Parameters<typeof isFailed>[0]) {
      if (isFailed(result)) {
        failed += 1;
        return;
      }
      answered += 1;
      usage = addUsage(usage, result.usage);
    },
    state: () => ({ ok: journal.counts.ok, failed: journal.counts.failed, total, cost: paid() }),
    get run() {
      return { answered, failed, usage, cost: paid() };
    },
  };
}

interface FinishedRun {
  readonly counts: RunCounts;
  readonly journal: Journal;
  readonly stats: ReturnType<typeof createRunStats>;
  readonly ms: number;
}

async function report(
  options: BatchCommandOptions,
  { counts, journal, stats, ms }: FinishedRun,
  app: App,
): Promise<void> {
  const { ok, failed } = journal.countClaimed();
  const { unreadable } = counts;
  const { answered, failed: failedNow, usage, cost } = stats.run;
  if (options.json) {
    const json: JsonObject = {
      ...{ output: journal.paths.output, rows: counts.seen, ok, failed, skipped: counts.skipped },
      ...{ answered, failedNow, usage, ms: Math.round(ms), cost },
      unreadable: unreadable > 0 ? unreadable : undefined,
      failedFile: pathExists(journal.paths.failed) ? journal.paths.failed : undefined,
    };
    await printReport({ text: '', json }, options, app);
    return;
  }
  if (options.quiet) return;
  const money = cost === undefined ? '' : `, ${formatMoney(cost)}`;
  const earlier =
    counts.skipped > 0 ? `, ${formatCount(counts.skipped)} of ${formatCount(counts.seen)} were done before` : '';
  const lines = [
    ...(counts.seen === 0 ? ['the input has no rows'] : []),
    `${formatRowCount(answered)} answered in ${formatDuration(ms)}${money}${earlier}`,
    ...(failed > 0 ? formatFailed(options, { failed, unreadable, paths: journal.paths }) : []),
  ];
  await app.io.err.write(lines.map((text) => `gmn: ${text}\n`).join(''));
}

function formatFailed(
  { outputFile, args: [input = '-'] }: BatchCommandOptions,
  { failed, unreadable, paths }: { readonly failed: number; readonly unreadable: number } & Pick<Journal, 'paths'>,
): readonly string[] {
  const rows = pathExists(paths.failed) ? `; the rows are in ${outputFile}.failed.jsonl` : '';
  const others = failed > unreadable ? `${formatCount(unreadable)} of them` : 'they';
  const place = input === '-' ? 'the input' : input;
  return [
    `${formatCount(failed)} failed: see "error" in ${outputFile}${rows}`,
    ...(failed > unreadable ? ['to try them again, run the same command with --retry-failed'] : []),
    ...(unreadable > 0
      ? [`${others} cannot be read, or have the id of another row: correct ${place}, then run the same command again`]
      : []),
  ];
}

async function reportStop(options: BatchCommandOptions, { counts }: Journal, { io }: App): Promise<void> {
  if (options.quiet || options.json) return;
  const done = `${formatRowCount(counts.ok)} answered and ${formatCount(counts.failed)} failed so far`;
  await io.err.write(`gmn: ${done}, in ${options.outputFile}\n`);
}
