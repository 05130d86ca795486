import { type PrintOptions, printReport, type Report } from '../app/report.ts';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { formatCount, plural } from '../core/text/format.ts';
import { countTokens } from '../engine/model/queries.ts';
import { formatMoney } from './progress.ts';
import type { BatchOptions, BatchSetup } from './requests/batch-setup.ts';
import { BatchCosts } from './requests/costs.ts';
import { openBatch } from './requests/setup.ts';
import type { Rows } from './rows/row.ts';
import type { PendingRow } from './rows/row-engine.ts';
import { sampleRows } from './rows/sample.ts';
import { openRows, type Source } from './rows/source.ts';

interface PreviewOptions extends BatchOptions, PrintOptions {
  readonly engine?: 'local' | 'api';
  readonly limit?: number;
  readonly sample?: number;
}

/** For `--dry-run` and `--estimate`, which ask nothing: the setup, and the rows from their beginning. */
export async function previewRun(options: PreviewOptions, app: App, source: Source): Promise<number> {
  const { dryRun, serviceTier, demo } = options;
  const costs = await BatchCosts.open(app, { serviceTier, demo });
  const reported = new Set<string>();
  const setup = await openBatch(options, app, { costs, onNotice: (message) => reported.add(message) });
  let input: Awaited<ReturnType<typeof openRows>> | undefined;
  try {
    input = await openRows(source, setup, { signal: app.signal });
    const report = dryRun
      ? await previewRequest(input.rows, setup)
      : await estimateRows(input.rows, options, { setup, app, costs });
    const notices = [...reported, ...(report.notices ?? [])];
    return await printReport({ ...report, notices }, dryRun ? { ...options, json: true } : options, app);
  } finally {
    await input?.close();
    await setup.close();
  }
}

/** The request of the first row that can be asked, as JSON only. Sends nothing, writes nothing. Throws AppError `usage` if there is none. */
async function previewRequest(rows: Rows, setup: BatchSetup): Promise<Report> {
  const notices: string[] = [];
  let fault: AppError | undefined;
  for await (const row of rows) {
    try {
      if (row.input instanceof AppError) throw row.input;
      const { request, uploads } = await setup.preview(row as PendingRow);
      notices.push(...uploads.map((file) => `would be uploaded: ${file}`));
      return { text: '', json: request, notices };
    } catch (thrown) {
      const error = AppError.from(thrown);
      if (error.fault !== 'usage') throw error;
      fault ??= error;
      notices.push(`row ${row.index + 1} would fail: ${error.message}`);
      if (notices.length === MAX_FAILING) break;
    }
  }
  throw fault ?? new AppError('usage', 'the input has no rows', { hint: 'Check the file, or what is piped in.' });
}

const MAX_FAILING = 10;

const SAMPLE = 50;
/** 95 % of a normal distribution lie within so many standard deviations. */
const DEVIATIONS = 1.96;

/** What the rows would cost, from the token counts of a sample. Asks the model nothing. */
async function estimateRows(
  rows: Rows,
  { engine, limit, sample: size }: PreviewOptions,
  { setup, app, costs }: { readonly setup: BatchSetup; readonly app: App; readonly costs: BatchCosts },
): Promise<Report> {
  const { sample, total: all } = await sampleRows(rows, SAMPLE);
  const total = Math.min(all, limit ?? size ?? all);
  const counts: number[] = [];
  let broken = 0;
  for (const row of sample) {
    app.signal.throwIfAborted();
    const request =
      row.input instanceof AppError ? undefined : await setup.toRequest(row as PendingRow).catch(() => undefined);
    if (request === undefined) broken += 1;
    else {
      const provided = await setup.provide(request, { signal: app.signal });
      const counted = await countTokens(setup.opened, provided, { app, signal: app.signal });
      counts.push(counted.totalTokens);
    }
  }
  const share = sample.length === 0 ? 0 : counts.length / sample.length;
  const asked = Math.round(total * share);
  const { tokens, margin } = extrapolate(counts, asked, all === sample.length);
  const { modelId } = setup.opened;
  const toCost = (input: number, output: number): number | undefined => {
    const usage = { promptTokenCount: input, candidatesTokenCount: output, totalTokenCount: input + output };
    return costs.estimate({ usage, model: modelId, isBatch: engine === 'api' });
  };
  const mean = counts.length === 0 ? 0 : Math.round(tokens / Math.max(1, asked));
  // Prices may have steps by the length of a prompt, so one row is priced and multiplied.
  const inputCost = multiplyCost(toCost(mean, 0), asked);
  const outputCost = multiplyCost(subtractCosts(toCost(mean, 100), toCost(mean, 0)), asked);
  const json = {
    rows: total,
    sampled: sample.length,
    broken: broken > 0 ? broken : undefined,
    model: modelId,
    promptTokens: tokens,
    promptTokensMargin: margin,
    promptCost: inputCost,
    costPer100AnswerTokens: outputCost,
  };
  const lines = [
    `${plural(total, 'row')} for ${modelId}; ${sample.length} of them counted${broken > 0 ? `, ${broken} of these cannot be asked` : ''}`,
    `Prompts: ${formatCount(tokens)} tokens${margin > 0 ? ` ± ${formatCount(margin)}` : ''}${inputCost === undefined ? '' : `, ${formatMoney(inputCost)}`}`,
    outputCost === undefined
      ? `The price of ${modelId} is not known.`
      : `Answers: ${formatMoney(outputCost)} for every 100 tokens that an answer has on average`,
  ];
  return { text: `${lines.join('\n')}\n`, json };
}

function multiplyCost(cost: number | undefined, times: number): number | undefined {
  return cost === undefined ? undefined : cost * times;
}

function subtractCosts(left: number | undefined, right: number | undefined): number | undefined {
  return left === undefined || right === undefined ? undefined : left - right;
}

function extrapolate(
  counts: readonly number[],
  total: number,
  isAll: boolean,
): { readonly tokens: number; readonly margin: number } {
  if (counts.length === 0) return { tokens: 0, margin: 0 };
  const mean = counts.reduce((sum, count) => sum + count, 0) / counts.length;
  const variance = counts.reduce((sum, count) => sum + (count - mean) ** 2, 0) / Math.max(1, counts.length - 1);
  const margin = isAll ? 0 : DEVIATIONS * Math.sqrt(variance / counts.length) * total;
  return { tokens: Math.round(mean * total), margin: Math.round(margin) };
}
