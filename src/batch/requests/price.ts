import { readSetting } from '../../config/keys.ts';
import type { App } from '../../core/app.ts';
import { addUsage, type BilledCall, DETAIL_KEYS, type Usage, type UsageDetails } from '../../core/usage.ts';
import { computeCost, findPriceLimit, sumCosts } from '../../models/prices.ts';
import { appendUsage } from '../../session/usage-log.ts';

/** The price of a call in US dollars; undefined if it is not known. */
export type ComputeCost = (usage: Usage, model: string) => number | undefined;

/** Costs of calls in US dollars. No price is guessed: a cost that is not known is undefined. */
export interface Prices {
  sum(calls: readonly BilledCall[]): number | undefined;
  readonly estimate: ComputeCost;
}

interface PriceOptions {
  readonly serviceTier?: string;
  /** The offline model costs nothing; an estimate is made as if it did. */
  readonly demo?: boolean;
  /** Given with a limit: an estimate then takes what a model without a price costs at most, and says so once. */
  readonly onPriceLimit?: ((notice: string) => void) | undefined;
}

export async function createPrices(app: App, { serviceTier, demo, onPriceLimit }: PriceOptions = {}): Promise<Prices> {
  const overrides = readSetting((await app.settings()).document ?? {}, 'prices');
  let estimated = overrides;
  return {
    sum: (calls) => (calls.length === 0 || demo ? undefined : sumCosts(calls, overrides)),
    estimate(usage, model) {
      const at = app.clock.now();
      const limit = onPriceLimit && findPriceLimit({ model, at, overrides: estimated });
      if (limit !== undefined) {
        estimated = limit.overrides;
        onPriceLimit?.(limit.notice);
      }
      return computeCost(usage, { model, at, serviceTier, overrides: estimated });
    },
  };
}

/** Prices have steps at these lengths of a prompt. */
const STEPS = [128_000, 200_000];

/** The calls of a run, summed up by everything that their price depends on: a million calls become a few records. */
export function createBilledCalls({ demo }: Pick<PriceOptions, 'demo'> = {}) {
  const sums = new Map<string, BilledCall>();
  return {
    add(call: BilledCall): void {
      const { model, backend, serviceTier = '', isBatch = false, usage } = call;
      const promptTokens = call.promptTokens ?? usage.promptTokenCount ?? 0;
      const step = STEPS.filter((length) => promptTokens > length).length;
      const key = JSON.stringify([model, backend, serviceTier, isBatch, step]);
      const before = sums.get(key);
      sums.set(key, {
        ...call,
        promptTokens,
        usage: { ...addUsage(before?.usage ?? {}, usage), ...addDetails(before?.usage ?? {}, usage) },
      });
    },
    /** Writes them to the usage log. Never throws. */
    save(app: App, runId: string): void {
      if (demo) return;
      const { homes, cwd, clock, replayed } = app;
      if (replayed) return;
      appendUsage(homes().gmn, { at: clock.now(), kind: 'batch', id: runId, cwd, calls: [...sums.values()] });
    },
  };
}

function addDetails(left: UsageDetails, right: UsageDetails): UsageDetails {
  const sums = DETAIL_KEYS.map((key) => [key, mergeTokenCounts(left[key] ?? [], right[key] ?? [])] as const);
  return Object.fromEntries(sums.filter(([, counts]) => counts.length > 0));
}

type Counts = NonNullable<UsageDetails[keyof UsageDetails]>;

function mergeTokenCounts(left: Counts, right: Counts): Counts {
  const sums = new Map<string, number>();
  for (const { modality, tokenCount } of [...left, ...right]) {
    sums.set(String(modality), (sums.get(String(modality)) ?? 0) + (Number(tokenCount) || 0));
  }
  return [...sums].map(([modality, tokenCount]) => ({ modality, tokenCount }));
}
