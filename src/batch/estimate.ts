import type { Report } from '../app/report.ts';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { formatCount, plural } from '../core/text/format.ts';
import { countTokens } from '../engine/model/queries.ts';
import { formatMoney } from './progress.ts';
import type { ComputeCost } from './requests/price.ts';
import type { BatchSetup } from './requests/setup.ts';
import type { Row } from './rows/row.ts';
import type { PendingRow } from './rows/row-engine.ts';
import { sampleRows } from './rows/sample.ts';

const SAMPLE = 50;
/** 95 % of a normal distribution lie within so many standard deviations. */
const DEVIATIONS = 1.96;

/** What the rows would cost, from the token counts of a sample. Asks the model nothing. */
export async function estimateBatch(
  rows: AsyncIterable<Row>,
  {
    setup,
    app,
    price,
    limit,
  }: { readonly setup: BatchSetup; readonly app: App; readonly price: ComputeCost; readonly limit: number | undefined },
): Promise<Report> {
  const { sample, total: all } = await sampleRows(rows, SAMPLE);
  const total = Math.min(all, limit ?? all);
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
  const toCost = (input: number, output: number): number | undefined =>
    price({ promptTokenCount: input, candidatesTokenCount: output, totalTokenCount: input + output }, modelId);
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
  return { text: `${lines.join('\n')}\n`, json, notices: [] };
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
