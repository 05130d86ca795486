import { readSetting } from '../../config/keys.ts';
import type { App } from '../../core/app.ts';
import { addUsage, type BilledCall, DETAIL_KEYS, type UsageDetails } from '../../core/usage.ts';
import { computeCost, findPriceLimit, type PriceOverrides, sumCosts } from '../../models/prices.ts';
import { appendUsage } from '../../session/usage-log.ts';

interface CostOptions {
  readonly serviceTier?: string;
  /** The offline model costs nothing; an estimate is made as if it did. */
  readonly demo?: boolean;
  /** Given with a limit: an estimate then takes what a model without a price costs at most, and says so once. */
  readonly onPriceLimit?: ((notice: string) => void) | undefined;
}

/** Prices have steps at these lengths of a prompt. */
const STEPS = [128_000, 200_000];
/** The Batch API costs half of the usual price. */
const BATCH_SHARE = 0.5;

/**
 * The calls of a run and their costs in US dollars. No price is guessed: a cost that is not known is undefined. The calls are
 * summed up by everything that their price depends on: a million calls become a few records.
 */
export class BatchCosts {
  /** Of all calls whose price is known, also of those for rows that failed. */
  paid: number | undefined;
  /** The same, with estimates for the others. */
  spent = 0;
  readonly #app: App;
  readonly #options: CostOptions;
  readonly #overrides: PriceOverrides | undefined;
  readonly #sums = new Map<string, BilledCall>();
  #estimated: PriceOverrides | undefined;

  private constructor(app: App, options: CostOptions, overrides: PriceOverrides | undefined) {
    this.#app = app;
    this.#options = options;
    this.#overrides = overrides;
    this.#estimated = overrides;
  }

  static async open(app: App, options: CostOptions = {}): Promise<BatchCosts> {
    return new BatchCosts(app, options, readSetting((await app.settings()).document ?? {}, 'prices'));
  }

  add(call: BilledCall): void {
    const cost = this.sum([call]);
    if (cost !== undefined) this.paid = (this.paid ?? 0) + cost;
    this.spent += cost ?? (this.#options.demo ? 0 : (this.estimate({ ...call, isBatch: false }) ?? 0));
    const { model, backend, serviceTier = '', isBatch = false, usage } = call;
    const promptTokens = call.promptTokens ?? usage.promptTokenCount ?? 0;
    const step = STEPS.filter((length) => promptTokens > length).length;
    const key = JSON.stringify([model, backend, serviceTier, isBatch, step]);
    const before = this.#sums.get(key)?.usage ?? {};
    const sum = { ...addUsage(before, usage), ...addDetails(before, usage) };
    this.#sums.set(key, { ...call, promptTokens, usage: sum });
  }

  sum(calls: readonly BilledCall[]): number | undefined {
    return calls.length === 0 || this.#options.demo ? undefined : sumCosts(calls, this.#overrides);
  }

  estimate({ usage, model, isBatch }: Pick<BilledCall, 'usage' | 'model' | 'isBatch'>): number | undefined {
    const { serviceTier, onPriceLimit } = this.#options;
    const at = this.#app.clock.now();
    const limit = onPriceLimit && findPriceLimit({ model, at, overrides: this.#estimated });
    if (limit !== undefined) {
      this.#estimated = limit.overrides;
      onPriceLimit?.(limit.notice);
    }
    const cost = computeCost(usage, { model, at, serviceTier, overrides: this.#estimated });
    return cost !== undefined && isBatch ? BATCH_SHARE * cost : cost;
  }

  /** Writes the calls to the usage log. Never throws. */
  save(id: string): void {
    const { homes, cwd, clock, replayed } = this.#app;
    if (this.#options.demo || replayed) return;
    appendUsage(homes().gmn, { at: clock.now(), kind: 'batch', id, cwd, calls: [...this.#sums.values()] });
  }
}

function addDetails(left: UsageDetails, right: UsageDetails): UsageDetails {
  const sums = DETAIL_KEYS.map(
    (key) => [key, mergeTokenCounts([...(left[key] ?? []), ...(right[key] ?? [])])] as const,
  );
  return Object.fromEntries(sums.filter(([, counts]) => counts.length > 0));
}

type Counts = NonNullable<UsageDetails[keyof UsageDetails]>;

function mergeTokenCounts(counts: Counts): Counts {
  const sums = new Map<string, number>();
  for (const { modality, tokenCount } of counts) {
    sums.set(String(modality), (sums.get(String(modality)) ?? 0) + (Number(tokenCount) || 0));
  }
  return [...sums].map(([modality, tokenCount]) => ({ modality, tokenCount }));
}
