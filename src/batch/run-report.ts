import { type PrintOptions, printReport } from '../app/report.ts';
import type { App } from '../core/app.ts';
import { formatCount, formatDuration } from '../core/text/format.ts';
import { formatNotice } from '../core/text/notice.ts';
import { addUsage, NO_USAGE, type Usage } from '../core/usage.ts';
import { pathExists } from '../platform/files/path.ts';
import type { Journal } from './output/journal.ts';
import { formatMoney, formatRowCount } from './progress.ts';
import type { BatchCosts } from './requests/costs.ts';
import { isFailed, type RowResult } from './rows/result.ts';
import type { RunCounts } from './run-rows.ts';

/** What this run has done so far. */
export class RunStats {
  /** Undefined if the rows cannot be counted, or not yet. */
  total: number | undefined;
  usage: Usage = NO_USAGE;
  answered = 0;
  failed = 0;

  add(result: RowResult): void {
    if (isFailed(result)) this.failed += 1;
    else {
      this.answered += 1;
      this.usage = addUsage(this.usage, result.usage);
    }
  }
}

interface ReportOptions extends PrintOptions {
  readonly args: readonly string[];
  readonly outputFile?: string;
}

interface ReportedRun {
  readonly options: ReportOptions;
  readonly app: App;
  readonly costs: BatchCosts;
  readonly journal: Journal;
}

interface RunEnd {
  readonly counts: RunCounts;
  readonly stats: RunStats;
  readonly ms: number;
  readonly notices: readonly string[];
}

export async function reportEnd(
  { options, app, costs: { paid: cost }, journal }: ReportedRun,
  { counts: { seen, skipped, unreadable }, stats, ms, notices }: RunEnd,
): Promise<void> {
  const { ok, failed } = journal.countClaimed();
  const { answered, usage } = stats;
  const { named: output, failed: failedFile } = journal.paths;
  if (options.json) {
    const json = {
      output,
      rows: seen,
      ok,
      failed,
      skipped,
      answered,
      failedNow: stats.failed,
      usage,
      ms: Math.round(ms),
      cost,
      unreadable: unreadable > 0 ? unreadable : undefined,
      failedFile: pathExists(failedFile) ? failedFile : undefined,
      warnings: notices.length > 0 ? notices : undefined,
    };
    await printReport({ text: '', json }, options, app);
    return;
  }
  if (options.quiet) return;
  const money = cost === undefined ? '' : `, ${formatMoney(cost)}`;
  const earlier = skipped > 0 ? `, ${formatCount(skipped)} of ${formatCount(seen)} were done before` : '';
  const lines = seen === 0 ? ['the input has no rows'] : [];
  lines.push(`${formatRowCount(answered)} answered in ${formatDuration(ms)}${money}${earlier}`);
  if (failed > 0) {
    const rows = pathExists(failedFile) ? `; the rows are in ${options.outputFile}.failed.jsonl` : '';
    lines.push(`${formatCount(failed)} failed: see "error" in ${options.outputFile}${rows}`);
  }
  if (failed > unreadable) lines.push('to try them again, run the same command with --retry-failed');
  if (failed > 0 && unreadable > 0) {
    const [input = '-'] = options.args;
    const rows = failed > unreadable ? `${formatCount(unreadable)} of them` : 'they';
    const place = input === '-' ? 'the input' : input;
    lines.push(
      `${rows} cannot be read, or have the id of another row: correct ${place}, then run the same command again`,
    );
  }
  await app.io.err.write(lines.map((text) => formatNotice(text, app.io.err)).join(''));
}

export async function reportStop(options: ReportOptions, { counts }: Journal, { io }: App): Promise<void> {
  if (options.quiet || options.json) return;
  const done = `${formatRowCount(counts.ok)} answered and ${formatCount(counts.failed)} failed so far`;
  await io.err.write(formatNotice(`${done}, in ${options.outputFile}`, io.err));
}
