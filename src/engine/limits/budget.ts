import type { Queries } from '../../api/queries.ts';
import { readSetting } from '../../config/keys.ts';
import type { App } from '../../core/app.ts';
import type { Content } from '../../core/content.ts';
import type { DecisionsClient } from '../../core/decision.ts';
import { AppError } from '../../core/error.ts';
import type { Notify } from '../../core/event.ts';
import { estimateRequestTokens } from '../../core/media-tokens.ts';
import type { AdmittedRequest, CountedCall, ModelRequest, SpendingLimit } from '../../core/model.ts';
import { formatDollars } from '../../core/text/format.ts';
import {
  computeCost,
  countAffordableTokens,
  findPrice,
  findPriceLimit,
  type PriceOverrides,
} from '../../models/prices.ts';
import type { Backend } from '../../models/table.ts';
import { createCondition } from '../../platform/runtime/condition.ts';

/** With fewer tokens of output than this, a call is not worth its prompt. */
const MIN_OUTPUT = 256;
/** The longest answer of a request that sets no limit, in tokens. */
export const DEFAULT_OUTPUT = 65_536;

export type Budget = Awaited<ReturnType<typeof openBudget>>;

interface SpendingTarget {
  readonly models: readonly string[];
  readonly backend: Backend;
  /** The bytes of uploaded files, by their address. */
  readonly sizes: ReadonlyMap<string, number>;
  readonly notify?: Notify;
}

/** The budget of `--max-cost`, in dollars, for all models opened with it. `hint`: what to do when it is used up. */
export async function openBudget(
  { maxCost, hint }: { readonly maxCost: number; readonly hint: string },
  app: Pick<App, 'settings' | 'clock'>,
) {
  if (!(maxCost > 0)) {
    throw new AppError('usage', '--max-cost must be more than 0', { hint: 'In dollars, e.g. --max-cost 0.50' });
  }
  let overrides: PriceOverrides = readSetting((await app.settings()).document ?? {}, 'prices') ?? {};
  const account = createAccount(maxCost);
  const hasPrice = (model: string, backend: Backend): boolean =>
    findPrice({ model, at: app.clock.now(), backend, overrides }) !== undefined;
  const limitSpending = ({ models, backend, sizes, notify }: SpendingTarget): SpendingLimit => {
    for (const model of models) {
      const limit = findPriceLimit({ model, at: app.clock.now(), backend, overrides });
      if (limit === undefined) continue;
      overrides = limit.overrides;
      notify?.(limit.notice);
    }
    const unknown = models.find((id) => !hasPrice(id, backend));
    if (unknown !== undefined) throw noPriceError(unknown, backend);
    const purse = { backend, sizes, account, overrides, hint, now: app.clock.now };
    return { admit: (request, signal) => admitRequest(request, purse, signal) };
  };
  /** Reserves what the input may cost, and replaces it by what was counted. */
  const spendOnInput = async <Found extends Pick<CountedCall, 'usage'>>(
    { model, parts }: { readonly model: string; readonly parts: Content['parts'] },
    target: Omit<SpendingTarget, 'models'>,
    ask: () => Promise<Found>,
    signal: AbortSignal,
  ): Promise<Found> => {
    const { admit } = limitSpending({ ...target, models: [model] });
    const contents: readonly Content[] = [{ role: 'user', parts }];
    const admitted = await admit({ model, contents, generationConfig: { maxOutputTokens: 0 } }, signal);
    try {
      const found = await ask();
      const { usage } = found;
      // Not every service says how many tokens it took.
      admitted.settle(usage.promptTokenCount === undefined ? undefined : { model, usage }, true);
      return found;
    } catch (thrown) {
      admitted.settle(undefined, false);
      throw thrown;
    }
  };
  return {
    hasPrice,
    limit: maxCost,
    get spent(): number {
      return account.spent;
    },
    /** For all requests to these models. Throws AppError `usage` if one of them has no price. */
    limitSpending,
    /** The queries, with those limited that cost tokens. They throw AppError `usage` for a model without a price. */
    limitQueries(queries: Queries, target: Omit<SpendingTarget, 'models'>): Queries {
      return {
        ...queries,
        embed(batch, signal) {
          const parts = batch.texts.map((text) => ({ text }));
          return spendOnInput({ model: batch.model, parts }, target, () => queries.embed(batch, signal), signal);
        },
      };
    },
    /** Throws AppError `usage` for a model without a price. */
    limitDecisions(client: DecisionsClient, target: Omit<SpendingTarget, 'models'>): DecisionsClient {
      return {
        ...client,
        decide(request, signal) {
          const { model, input, questions } = request;
          const parts = [...input, { text: JSON.stringify(questions) }];
          return spendOnInput({ model, parts }, target, () => client.decide(request, signal), signal);
        },
      };
    },
  };
}

type Account = ReturnType<typeof createAccount>;

function createAccount(limit: number) {
  let spent = 0;
  const reserved = new Set<{ readonly amount: number }>();
  const ended = createCondition();
  return {
    limit,
    get spent(): number {
      return spent;
    },
    get left(): number {
      return [...reserved].reduce((left, { amount }) => left - amount, limit - spent);
    },
    get isIdle(): boolean {
      return reserved.size === 0;
    },
    /** Reserves an amount for a call in flight. The returned function replaces it by the cost of the call. */
    reserve(amount: number): (cost: number) => void {
      const reservation = { amount };
      reserved.add(reservation);
      return (cost) => {
        reserved.delete(reservation);
        spent += cost;
        ended.notifyAll();
      };
    },
    waitForEnd: ended.wait,
  };
}

interface Purse extends Omit<SpendingTarget, 'models'> {
  readonly account: Account;
  readonly overrides: PriceOverrides;
  readonly hint: string;
  readonly now: () => number;
}

async function admitRequest(asked: ModelRequest, purse: Purse, signal: AbortSignal): Promise<AdmittedRequest> {
  const { backend, sizes, account, overrides, hint, now } = purse;
  const { model, serviceTier } = asked;
  const context = { at: now(), backend, overrides, serviceTier, model };
  const promptTokens = estimateRequestTokens(asked, sizes);
  const { maxOutputTokens: wanted } = asked.generationConfig;
  const most = typeof wanted === 'number' ? wanted : DEFAULT_OUTPUT;
  const estimate = (candidatesTokenCount: number): number => {
    const cost = computeCost({ promptTokenCount: promptTokens, candidatesTokenCount }, context);
    if (cost === undefined) throw noPriceError(model, backend);
    return cost;
  };
  const countAffordable = (): number => {
    if (estimate(0) > account.left) return -1;
    return most === 0 ? 0 : (countAffordableTokens(account.left, { ...context, promptTokens }) ?? 0);
  };
  // Most answers are shorter than they may be, so a call that ends leaves more than it had reserved.
  while (countAffordable() < most && !account.isIdle) await account.waitForEnd(signal);
  const affordable = countAffordable();
  if (affordable < Math.min(MIN_OUTPUT, most)) throw spentError(account, hint);
  const output = Math.min(most, affordable);
  const isLess = output < most;
  const settle = account.reserve(estimate(output));
  const toCost = (counted: CountedCall): number => {
    const usage = { ...counted.usage, ...counted.details };
    const price = (id: string): number | undefined =>
      computeCost(usage, { ...context, at: now(), model: id, serviceTier: counted.serviceTier ?? serviceTier });
    // A reply may name a model without a price: it is billed as the requested one, else as estimated.
    return price(counted.model) ?? price(model) ?? estimate(output);
  };
  return {
    request: isLess ? { ...asked, generationConfig: { ...asked.generationConfig, maxOutputTokens: output } } : asked,
    notice: isLess ? `--max-cost ${account.limit} left room for ${output} tokens of this answer` : undefined,
    settle: (counted, mayCost) => settle(counted === undefined ? (mayCost ? estimate(0) : 0) : toCost(counted)),
  };
}

function spentError({ limit, spent }: Account, hint: string): AppError {
  const message =
    spent === 0
      ? `stopped at --max-cost: ${formatDollars(limit)} does not buy one answer`
      : `stopped at --max-cost: ${formatDollars(spent)} of ${formatDollars(limit)} is spent, and the rest does not buy the next answer`;
  return new AppError('limit', message, { hint, isCostSpent: true });
}

function noPriceError(model: string, backend: Backend): AppError {
  if (backend === 'code-assist') {
    return new AppError('usage', '--max-cost means nothing with a Google login, where tokens have no price', {
      hint: 'Leave it out, or use an API key: gmn help auth',
    });
  }
  return new AppError('usage', `--max-cost: the price of ${model} is not known`, {
    hint: 'Choose another model with -m, or set its price: gmn help config',
  });
}
