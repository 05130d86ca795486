import { addUsage, type BilledCall, NO_USAGE, type Usage } from '../core/usage.ts';
import { type PriceOverrides, sumCosts } from '../models/prices.ts';

/** What the model calls of a chat cost, also those of tools and summaries, and those that failed. */
export interface Spending {
  add(call: BilledCall): void;
  /** The tokens of all calls. */
  readonly usage: Usage;
  /** In dollars; undefined if there was no call yet, or one has no known price. */
  readonly cost: number | undefined;
  /** What is left of `--max-cost` in dollars, if that was given. */
  readonly left: number | undefined;
}

interface SpendingOptions {
  readonly overrides?: PriceOverrides;
  readonly left?: () => number;
}

export function createSpending({ overrides, left }: SpendingOptions): Spending {
  let usage = NO_USAGE;
  let cost: number | undefined;
  let isUnknown = false;
  return {
    add(call) {
      usage = addUsage(usage, call.usage);
      const more = sumCosts([call], overrides);
      isUnknown ||= more === undefined;
      cost = isUnknown ? undefined : (cost ?? 0) + (more ?? 0);
    },
    get usage() {
      return usage;
    },
    get cost() {
      return cost;
    },
    get left() {
      return left?.();
    },
  };
}
