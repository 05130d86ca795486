import { AppError } from '../core/error.ts';
import type { Usage } from '../core/usage.ts';
import { createCondition } from './condition.ts';
import { formatMoney } from './progress.ts';

/** The price of a call in US dollars; undefined if it is not known. */
export type ComputeCost = (usage: Usage, model: string) => number | undefined;

interface Reservation {
  /** Present if the budget does not cover as much as the request asks for. */
  readonly maxOutputTokens?: number;
  /** Replaces the reservation by the real cost; undefined if nothing was spent, or it is not known. */
  settle(cost: number | undefined): void;
}

interface Wanted {
  readonly model: string;
  readonly tokens: number;
  readonly maxOutputTokens: number | undefined;
}

/** What `--max-cost` leaves. A request in flight reserves the most it can cost, so only a wrong estimate exceeds the limit. */
export interface Budget {
  /** Waits while other requests have reserved what is left. Throws AppError `limit` if that does not cover a useful answer. */
  reserve(wanted: Wanted, signal: AbortSignal): Promise<Reservation>;
  readonly spent: number;
}

/** An answer shorter than this is of no use. */
const MIN_OUTPUT = 256;
/** The longest answer of a request that sets no limit, in tokens. */
export const DEFAULT_OUTPUT = 65_536;

export function createBudget(maxCost: number, price: ComputeCost, spentBefore = 0): Budget {
  let spent = spentBefore;
  let reserved = 0;
  let holders = 0;
  const settled = createCondition();
  const cost = ({ model, tokens }: Wanted, output: number): number => {
    const usage = { promptTokenCount: tokens, candidatesTokenCount: output, totalTokenCount: tokens + output };
    const found = price(usage, model);
    if (found !== undefined) return found;
    throw unknownPriceError(model);
  };
  return {
    get spent() {
      return spent;
    },
    async reserve(wanted, signal) {
      const most = wanted.maxOutputTokens ?? DEFAULT_OUTPUT;
      for (;;) {
        signal.throwIfAborted();
        const left = maxCost - spent - reserved;
        const least = cost(wanted, 0);
        const perToken = (cost(wanted, most) - least) / most;
        const affordable = perToken === 0 ? most : Math.floor((left - least) / perToken);
        if (affordable < most && holders > 0) {
          await settled.wait(signal);
          continue;
        }
        const output = Math.min(most, affordable);
        if (output < Math.min(MIN_OUTPUT, most)) throw batchSpentError(maxCost, spent);
        const held = cost(wanted, output);
        reserved += held;
        holders += 1;
        return {
          ...(output < most ? { maxOutputTokens: output } : {}),
          settle(actual) {
            reserved -= held;
            holders -= 1;
            spent += actual ?? 0;
            settled.notifyAll();
          },
        };
      }
    },
  };
}

export function unknownPriceError(model: string): AppError {
  return new AppError('limit', `--max-cost: the price of ${model} is not known`, {
    hint: 'Set it under "prices" in the settings, or leave --max-cost out.',
  });
}

function batchSpentError(maxCost: number, spent: number): AppError {
  const message =
    spent === 0
      ? `--max-cost ${maxCost} is not enough for one row: its prompt and ${MIN_OUTPUT} tokens of answer cost more`
      : `--max-cost ${maxCost} is used up: ${formatMoney(spent)} spent, and the next row could cost more than is left`;
  return new AppError('limit', message, {
    hint: 'Run the same command with a higher --max-cost: it continues where it stopped.',
  });
}
