import { checkDecisionFlags } from '../app/decision.ts';
import { type PrintOptions, printReport } from '../app/report.ts';
import type { App } from '../core/app.ts';
import { AppError, FAULTS } from '../core/error.ts';
import type { JsonObject } from '../core/json.ts';
import { formatCount, formatDuration } from '../core/text/format.ts';
import { formatNotice } from '../core/text/notice.ts';
import { quoteIfNeeded } from '../core/text/quote.ts';
import { addUsage, type BilledCall, NO_USAGE, type Usage } from '../core/usage.ts';
import { type Budget, openBudget } from '../engine/limits/budget.ts';
import { findNamedFile } from '../input/named-file.ts';
import { pathExists } from '../platform/files/path.ts';
import { createAbortable, onAbort } from '../platform/runtime/abort.ts';
import { keepHeapSmall } from '../platform/runtime/native.ts';
import { estimateBatch } from './estimate.ts';
import { checkEngine, type EngineOptions, type OpenedEngine, openEngine } from './open-engine.ts';
import { type Journal, openJournal } from './output/journal.ts';
import { type RunPaths, resolveRunPaths } from './output/run-file.ts';
import { previewBatch } from './preview.ts';
import { formatMoney, formatRowCount } from './progress.ts';
import { openProgressLine, type ProgressLine } from './progress-line.ts';
import { toBatchPrices } from './remote/codec.ts';
import { unknownPriceError } from './remote/sharder.ts';
import { type ComputeCost, createBilledCalls, createPrices } from './requests/price.ts';
import { type BatchOptions, type BatchSetup, openBatch, type SetupContext } from './requests/setup.ts';
import { isFailed } from './rows/result.ts';
import { type CsvFormat, checkIsText, type Row } from './rows/row.ts';
import { sampleRows } from './rows/sample.ts';
import { createRowSource, peekRows, type Source, type SourceOptions } from './rows/source.ts';
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

/** Asks every row of an input, and writes one line for each to the output, which a later run goes on with. */
export async function answerRows(options: BatchCommandOptions, app: App): Promise<number> {
  if (isAlone(options, app)) return (await import('./list.ts')).listRuns(options, app);
  checkOptions(options);
  checkEngine(options);
  for (const input of options.args) if (input !== '-') await findNamedFile(input, app);
  const source = createRowSource(options, app);
  if (options.dryRun || options.estimate) return runWithoutAsking(options, app, source);
  const paths = requireOutput(options, app);
  keepHeapSmall();
  const stop = createAbortable();
  const calls = createBilledCalls(options);
  let cost: number | undefined;
  const onCall = (call: BilledCall): void => {
    calls.add(call);
    const paid = prices.sum([call]);
    if (paid !== undefined) cost = (cost ?? 0) + paid;
  };
  const isQuiet = (options.quiet || options.json) ?? false;
  const { onNotice, showOn, list: listNotices } = createNotices(app, isQuiet);
  const budget = await openLocalBudget(options, app);
  const isLimited = options.maxCost !== undefined && budget === undefined;
  const prices = await createPrices(app, { ...options, onPriceLimit: isLimited ? onNotice : undefined });
  const setup = await openSetup(options, app, { prices, budget, onCall, onNotice, signal: app.signal });
  const input = openRows(options, source, setup, app);
  try {
    const { firstRow, rows, format } = await input;
    if (isLimited) requirePrice(prices.estimate, setup.opened.modelId);
    const journal = await openJournal({
      ...{ paths, settings: setup.settings, clock: app.clock, signal: app.signal },
      input: { name: source.name, firstRow },
      restarts: options.restart ?? false,
      table: format,
      isTableRaw: options.csvRaw ?? false,
      omitsInput: options.noInput ?? false,
      redact: setup.redact,
      notify: onNotice,
    });
    const stats = createRunStats(journal, () => cost);
    let opened: OpenedEngine | undefined;
    const line = openProgressLine(app.io.err, {
      clock: app.clock,
      isQuiet,
      state: () => ({ ...stats.state(), ...opened?.state() }),
    });
    const unregister = app.onExit(() => {
      journal.flushNow();
      line.notify(`stopped at once. ${RESUME_HINT}`);
    });
    try {
      showOn(line);
      const counting = countTotal(options, source, stop.signal).then(stats.setTotal, () => {});
      const stopListening = onAbort(app.signal, () =>
        windDown(app.signal, (reason) => stop.abort(reason), opened?.isRemote ? undefined : line),
      );
      const begunAt = app.clock.now();
      let counts: RunCounts | undefined;
      try {
        opened = await openEngine(options, { app, setup, journal, prices, onCall, notify: line.notify });
        counts = await runRows({
          ...{ rows, journal, engine: opened.engine, limit: options.limit },
          retriesFailed: options.retryFailed ?? false,
          isOrdered: options.ordered ?? false,
          drainSignal: app.signal,
          signal: stop.signal,
          onFinished: (row) => {
            stats.add(row.result);
            line.add();
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
        await Promise.all([opened?.close(), counting]);
        await journal.close();
        if (counts === undefined) await reportStop(options, journal, app);
      }
      if (!counts.isComplete) {
        await reportStop(options, journal, app);
        throw AppError.from(app.signal.reason).with({ hint: RESUME_HINT });
      }
      await report(options, { counts, journal, stats, ms: app.clock.now() - begunAt, notices: listNotices() }, app);
      return journal.countClaimed().failed > 0 ? FAULTS.api.exitCode : 0;
    } finally {
      unregister();
    }
  } finally {
    await closeRows(input);
    await setup.close();
  }
}

/** No input, none that is piped in, and no flag that is about one. */
function isAlone({ args }: BatchCommandOptions, { stdin, typedFlags = [] }: App): boolean {
  const isAboutRows = typedFlags.some(({ long }) => !REPORT_FLAGS.includes(long));
  return args.length === 0 && !isAboutRows && stdin.kind() === 'none';
}

const REPORT_FLAGS: readonly string[] = ['json', 'quiet', 'color', 'no-color', 'cwd', 'debug', 'debug-file'];

async function openSetup(options: BatchOptions, app: App, context: SetupContext): Promise<BatchSetup> {
  if (options.decide === undefined && options.questions === undefined) return openBatch(options, app, context);
  return (await import('./requests/decision-setup.ts')).openDecisionBatch(options, app, context);
}

/** Jobs are paid for as a whole, so their engine has a budget of its own. */
async function openLocalBudget({ engine, maxCost }: BatchCommandOptions, app: App): Promise<Budget | undefined> {
  if (maxCost === undefined || engine === 'api') return undefined;
  const hint = 'Run the same command with a higher --max-cost: it continues where it stopped.';
  return openBudget({ maxCost, hint }, app);
}

const RESUME_HINT = 'Run the same command again: it continues where it stopped.';

const MAX_NOTICES = 100;

/** Says each notice once; what comes before there is a progress line waits for it, unless it is urgent. */
function createNotices({ io }: App, isQuiet: boolean) {
  const reported = new Set<string>();
  const early: string[] = [];
  let line: ProgressLine | undefined;
  return {
    list: (): readonly string[] => [...reported],
    onNotice(message: string, isUrgent = false): void {
      if (reported.has(message) || reported.size >= MAX_NOTICES) return;
      reported.add(message);
      if (line !== undefined) line.notify(message);
      else if (isUrgent && !isQuiet) void io.err.write(formatNotice(message, io.err));
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

async function openRows(
  { sample }: Pick<BatchCommandOptions, 'sample'>,
  source: Source,
  { isPromptNeeded, checkRow }: BatchSetup,
  app: App,
) {
  let format: CsvFormat | undefined;
  const onHeader = (header: CsvFormat): void => {
    format = header;
  };
  const peeked = await peekRows(source.open({ isPromptNeeded, onHeader, signal: app.signal }), checkRow);
  if (sample === undefined) return { ...peeked, format };
  return { ...peeked, format, rows: toIterable((await sampleRows(peeked.rows, sample)).sample) };
}

/** Nothing is open after a run, whether its rows were read or not: on Windows an open file cannot be removed. */
async function closeRows(opening: ReturnType<typeof openRows>): Promise<void> {
  const opened = await opening.catch(() => undefined);
  await opened?.close();
}

async function* toIterable(rows: readonly Row[]): AsyncGenerator<Row, void> {
  yield* rows;
}

/** Whether the run has looked at all rows that the output is for. */
function isWholeInput({ limit, sample }: BatchCommandOptions, { name }: Source, { paths }: Journal): boolean {
  return limit === undefined && sample === undefined && name !== paths.failed;
}

/** Undefined if the rows cannot be counted. */
async function countTotal(
  { limit, sample }: BatchCommandOptions,
  source: Source,
  signal: AbortSignal,
): Promise<number | undefined> {
  const most = Math.min(limit ?? Number.POSITIVE_INFINITY, sample ?? Number.POSITIVE_INFINITY);
  if (source.count === undefined) return Number.isFinite(most) ? most : undefined;
  return Math.min(most, await source.count(signal));
}

/** For what asks nothing: the setup, and the rows from their beginning. */
async function runWithoutAsking(options: BatchCommandOptions, app: App, source: Source): Promise<number> {
  const { dryRun, engine, limit, sample } = options;
  const usual = await createPrices(app, options);
  const prices = engine === 'api' ? toBatchPrices(usual) : usual;
  const reported = new Set<string>();
  const setup = await openSetup(options, app, {
    ...{ prices, onCall: () => {}, signal: app.signal },
    onNotice: (message) => reported.add(message),
  });
  const input = openRows({}, source, setup, app);
  try {
    const { rows } = await input;
    const report = dryRun
      ? await previewBatch(rows, setup)
      : await estimateBatch(rows, { setup, app, price: prices.estimate, limit: limit ?? sample });
    const notices = [...reported, ...(report.notices ?? [])];
    return await printReport({ ...report, notices }, dryRun ? { ...options, json: true } : options, app);
  } finally {
    await closeRows(input);
    await setup.close();
  }
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

function requirePrice(price: ComputeCost, model: string): void {
  if (price({ promptTokenCount: 1, candidatesTokenCount: 1 }, model) === undefined) throw unknownPriceError(model);
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
  readonly notices: readonly string[];
}

async function report(
  options: BatchCommandOptions,
  { counts, journal, stats, ms, notices }: FinishedRun,
  app: App,
): Promise<void> {
  const { ok, failed } = journal.countClaimed();
  const { unreadable } = counts;
  const { answered, failed: failedNow, usage, cost } = stats.run;
  if (options.json) {
    const json: JsonObject = {
      ...{ output: journal.paths.named, rows: counts.seen, ok, failed, skipped: counts.skipped },
      ...{ answered, failedNow, usage, ms: Math.round(ms), cost },
      unreadable: unreadable > 0 ? unreadable : undefined,
      failedFile: pathExists(journal.paths.failed) ? journal.paths.failed : undefined,
      warnings: notices.length > 0 ? notices : undefined,
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
  await app.io.err.write(lines.map((text) => formatNotice(text, app.io.err)).join(''));
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
  await io.err.write(formatNotice(`${done}, in ${options.outputFile}`, io.err));
}
