import { checkDecisionFlags } from '../app/decision.ts';
import type { PrintOptions } from '../app/report.ts';
import type { App } from '../core/app.ts';
import { AppError, FAULTS } from '../core/error.ts';
import { formatNotice } from '../core/text/notice.ts';
import { quoteIfNeeded } from '../core/text/quote.ts';
import { type Budget, openBudget } from '../engine/limits/budget.ts';
import { findNamedFile } from '../input/named-file.ts';
import { createAbortable, onAbort } from '../platform/runtime/abort.ts';
import { keepHeapSmall } from '../platform/runtime/native.ts';
import { checkEngine, type EngineOptions, type OpenedEngine, openEngine } from './open-engine.ts';
import { type Journal, openJournal } from './output/journal.ts';
import { type RunPaths, resolveRunPaths } from './output/run-file.ts';
import { previewRun } from './preview.ts';
import { openProgressLine, type ProgressLine } from './progress.ts';
import { unknownPriceError } from './remote/sharder.ts';
import type { BatchOptions, BatchSetup } from './requests/batch-setup.ts';
import { BatchCosts } from './requests/costs.ts';
import { openBatch } from './requests/setup.ts';
import { checkIsText, type Rows } from './rows/row.ts';
import { createRowSource, openRows, type Source, type SourceOptions } from './rows/source.ts';
import { RunStats, reportEnd, reportStop } from './run-report.ts';
import { type RunCounts, runRows } from './run-rows.ts';

export interface BatchCommandOptions extends BatchOptions, SourceOptions, PrintOptions, EngineOptions {
  readonly outputFile?: string;
  readonly limit?: number;
  readonly sample?: number;
  readonly estimate?: boolean;
  readonly retryFailed?: boolean;
  readonly restart?: boolean;
  readonly csvRaw?: boolean;
  readonly noInput?: boolean;
}

/** Asks every row of an input, and writes one line for each to the output, from which a later run continues. */
export async function answerRows(options: BatchCommandOptions, app: App): Promise<number> {
  if (isAlone(options, app)) return (await import('./list.ts')).listRuns(options, app);
  checkOptions(options);
  checkEngine(options);
  for (const input of options.args) if (input !== '-') await findNamedFile(input, app);
  const source = createRowSource(options, app);
  if (options.dryRun || options.estimate) return previewRun(options, app, source);
  const paths = requireOutput(options, app);
  keepHeapSmall();
  const notices = createNotices(options, app);
  const budget = await openLocalBudget(options, app);
  const { serviceTier, demo } = options;
  const isLimited = options.maxCost !== undefined && budget === undefined;
  const onPriceLimit = isLimited ? notices.onNotice : undefined;
  const costs = await BatchCosts.open(app, { serviceTier, demo, onPriceLimit });
  const setup = await openBatch(options, app, { costs, budget, onNotice: notices.onNotice });
  let input: Awaited<ReturnType<typeof openRows>> | undefined;
  try {
    input = await openRows(source, setup, { signal: app.signal, sample: options.sample });
    if (isLimited) requirePrice(costs, setup.opened.modelId);
    const journal = await openJournal({
      paths,
      settings: setup.settings,
      input: { name: source.name, firstRow: input.firstRow },
      restarts: options.restart ?? false,
      table: input.format,
      isTableRaw: options.csvRaw ?? false,
      omitsInput: options.noInput ?? false,
      redact: setup.redact,
      notify: notices.onNotice,
      clock: app.clock,
      signal: app.signal,
    });
    return await answerAll({ options, app, source, setup, costs, journal, notices }, input.rows);
  } finally {
    await input?.close();
    await setup.close();
  }
}

interface BatchRun {
  readonly options: BatchCommandOptions;
  readonly app: App;
  readonly source: Source;
  readonly setup: BatchSetup;
  readonly costs: BatchCosts;
  readonly journal: Journal;
  readonly notices: ReturnType<typeof createNotices>;
}

async function answerAll(run: BatchRun, rows: Rows): Promise<number> {
  const { options, app, costs, journal, notices } = run;
  const stats = new RunStats();
  let opened: OpenedEngine | undefined;
  const line = openProgressLine(app, isQuiet(options), () => ({
    ok: journal.counts.ok,
    failed: journal.counts.failed,
    total: stats.total,
    cost: costs.paid,
    ...opened?.state(),
  }));
  const unregister = app.onExit(() => {
    journal.flushNow();
    line.notify(`stopped at once. ${RESUME_HINT}`);
  });
  const stop = createAbortable();
  try {
    notices.showOn(line);
    const counting = countTotal(run, stop.signal).then(
      (total) => {
        stats.total = total;
      },
      () => {},
    );
    const stopListening = onAbort(app.signal, () =>
      windDown(app.signal, (reason) => stop.abort(reason), opened?.jobs === undefined ? line : undefined),
    );
    const begunAt = app.clock.now();
    let counts: RunCounts | undefined;
    try {
      opened = await openEngine(options, { app, setup: run.setup, journal, costs, notify: line.notify });
      counts = await runRows({
        rows,
        journal,
        engine: opened.engine,
        limit: options.limit,
        retriesFailed: options.retryFailed ?? false,
        isOrdered: options.ordered ?? false,
        drainSignal: app.signal,
        signal: stop.signal,
        onFinished: (row) => {
          stats.add(row.result);
          line.add();
        },
      });
      if (counts.isComplete) await opened.jobs?.remove();
      if (counts.isComplete && isWholeInput(run)) journal.forgetOthers();
    } catch (thrown) {
      throw opened?.jobs === undefined ? thrown : addWaitHint(thrown, journal);
    } finally {
      stopListening();
      stop.abort(new AppError('interrupted', 'the run is over'));
      line.end();
      costs.save(journal.runId);
      await Promise.all([opened?.jobs?.close(), counting]);
      await journal.close();
      if (counts === undefined) await reportStop(options, journal, app);
    }
    if (!counts.isComplete) {
      await reportStop(options, journal, app);
      throw AppError.from(app.signal.reason).with({ hint: RESUME_HINT });
    }
    await reportEnd(run, { counts, stats, ms: app.clock.now() - begunAt, notices: notices.list() });
    return journal.countClaimed().failed > 0 ? FAULTS.api.exitCode : 0;
  } finally {
    unregister();
  }
}

/** No input, none that is piped in, and no flag that is about one. */
function isAlone({ args }: BatchCommandOptions, { stdin, typedFlags = [] }: App): boolean {
  const isAboutRows = typedFlags.some(({ long }) => !REPORT_FLAGS.includes(long));
  return args.length === 0 && !isAboutRows && stdin.kind() === 'none';
}

const REPORT_FLAGS: readonly string[] = ['json', 'quiet', 'color', 'no-color', 'cwd', 'debug', 'debug-file'];

/** Jobs are paid for as a whole, so their engine has a budget of its own. */
async function openLocalBudget({ engine, maxCost }: BatchCommandOptions, app: App): Promise<Budget | undefined> {
  if (maxCost === undefined || engine === 'api') return undefined;
  const hint = 'Run the same command with a higher --max-cost: it continues where it stopped.';
  return openBudget({ maxCost, hint }, app);
}

const RESUME_HINT = 'Run the same command again: it continues where it stopped.';

const MAX_NOTICES = 100;

/** Says each notice once; what comes before there is a progress line waits for it, unless it is urgent. */
function createNotices(options: PrintOptions, { io }: App) {
  const reported = new Set<string>();
  const early: string[] = [];
  let line: ProgressLine | undefined;
  return {
    list: (): readonly string[] => [...reported],
    onNotice(message: string, isUrgent = false): void {
      if (reported.has(message) || reported.size >= MAX_NOTICES) return;
      reported.add(message);
      if (line !== undefined) line.notify(message);
      else if (isUrgent && !isQuiet(options)) void io.err.write(formatNotice(message, io.err));
      else early.push(message);
    },
    showOn(opened: ProgressLine): void {
      line = opened;
      early.forEach(opened.notify);
    },
  };
}

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
    hint: `The batch jobs keep running. To wait for them: gmn batch wait ${quoteIfNeeded(paths.named)}`,
  });
}

const STOPS: readonly AppError['fault'][] = ['interrupted', 'terminated', 'hangup'];

function isQuiet({ quiet, json }: PrintOptions): boolean {
  return (quiet || json) ?? false;
}

/** Whether the run has looked at all rows that the output is for. */
function isWholeInput({ options: { limit, sample }, source, journal }: BatchRun): boolean {
  return limit === undefined && sample === undefined && source.name !== journal.paths.failed;
}

/** Undefined if the rows cannot be counted. */
async function countTotal({ options, source }: BatchRun, signal: AbortSignal): Promise<number | undefined> {
  const { limit = Number.POSITIVE_INFINITY, sample = Number.POSITIVE_INFINITY } = options;
  const most = Math.min(limit, sample);
  if (source.count === undefined) return Number.isFinite(most) ? most : undefined;
  return Math.min(most, await source.count(signal));
}

function requireOutput({ outputFile, noInput }: BatchCommandOptions, { cwd }: App): RunPaths {
  if (outputFile) {
    checkIsText(outputFile, 'A table that spreadsheets open: --output-file out.csv; for programs: out.jsonl');
    const paths = resolveRunPaths(outputFile, cwd);
    if (!noInput || paths.table === undefined) return paths;
    throw new AppError('usage', '--no-input: a table has the columns of its rows', {
      hint: 'Leave it out, or name a .jsonl file.',
    });
  }
  throw new AppError('usage', 'gmn batch needs --output-file: a later run continues from that file', {
    hint: 'Example: gmn batch questions.jsonl --output-file answers.jsonl',
  });
}

function requirePrice(costs: BatchCosts, model: string): void {
  const usage = { promptTokenCount: 1, candidatesTokenCount: 1 };
  if (costs.estimate({ usage, model }) === undefined) throw unknownPriceError(model);
}

function checkOptions(options: BatchCommandOptions): void {
  checkDecisionFlags(options);
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
