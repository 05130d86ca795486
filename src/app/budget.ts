import { readSetting } from '../config/keys.ts';
import type { App } from '../core/app.ts';
import type { Part } from '../core/content.ts';
import { AppError } from '../core/error.ts';
import type { Model, ModelRequest, Reply, ReplyEvent } from '../core/model.ts';
import { formatDollars } from '../core/text/format.ts';
import { estimateTokens, MEDIA_TOKENS } from '../core/usage.ts';
import { computeCost, countAffordableTokens, findPrice, type PriceOverrides } from '../models/prices.ts';
import type { Backend } from '../models/table.ts';

/** With fewer tokens of output than this, a call is not worth its prompt. */
const MIN_OUTPUT = 256;

export interface Budget {
  /** In dollars. */
  readonly limit: number;
  readonly spent: number;
  hasPrice(model: string, backend: Backend): boolean;
  /** The model, with each call limited to what is left. Throws AppError `usage` if one of its models has no price. */
  limitModel(model: Model, choice: ModelChoice): Model;
}

interface ModelChoice {
  /** The requested model, and its substitutes. */
  readonly models: readonly string[];
  readonly backend: Backend;
}

interface BudgetOptions {
  readonly maxCost: number;
  /** What to do when the budget is used up. */
  readonly hint: string;
}

/** The budget of `--max-cost`, for all models opened with it. Throws AppError `usage` if it is not positive. */
export async function openBudget(
  { maxCost, hint }: BudgetOptions,
  app: Pick<App, 'settings' | 'clock'>,
): Promise<Budget> {
  if (!(maxCost > 0)) {
    throw new AppError('usage', '--max-cost must be more than 0', { hint: 'In dollars, e.g. --max-cost 0.50' });
  }
  const overrides = readSetting((await app.settings()).document ?? {}, 'prices') ?? {};
  const account = createAccount(maxCost);
  const hasPrice = (model: string, backend: Backend): boolean =>
    findPrice({ model, at: app.clock.now(), backend, overrides }) !== undefined;
  return {
    hasPrice,
    limit: maxCost,
    get spent() {
      return account.spent;
    },
    limitModel(model, choice) {
      const unknown = choice.models.find((id) => !hasPrice(id, choice.backend));
      if (unknown !== undefined) throw noPriceError(unknown, choice.backend);
      return createLimitedModel(model, { ...choice, account, overrides, hint, now: app.clock.now });
    },
  };
}

interface Account {
  readonly limit: number;
  readonly spent: number;
  readonly left: number;
  /** Reserves an amount for a call in flight. The returned function replaces it by the cost of the call. */
  reserve(amount: number): (cost: number) => void;
}

function createAccount(limit: number): Account {
  let spent = 0;
  let reserved = 0;
  return {
    limit,
    get spent() {
      return spent;
    },
    get left() {
      return limit - spent - reserved;
    },
    reserve(amount) {
      reserved += amount;
      return (cost) => {
        reserved -= amount;
        spent += cost;
      };
    },
  };
}

interface LimitedCalls extends ModelChoice {
  readonly account: Account;
  readonly overrides: PriceOverrides;
  readonly hint: string;
  readonly now: () => number;
}

function createLimitedModel(model: Model, calls: LimitedCalls): Model {
  return {
    async *stream(asked, signal) {
      const { request, settle, isLowered } = admitCall(asked, calls);
      let hasBegun = false;
      let reply: Reply | undefined;
      const stream = model.stream(request, signal);
      try {
        let step = await stream.next();
        for (; !step.done; step = await stream.next()) {
          hasBegun ||= step.value.type === 'begin';
          yield step.value;
        }
        reply = step.value;
        if (isLowered && reply.finishReason === 'MAX_TOKENS') yield cutNotice(request, calls.account);
        return reply;
      } finally {
        await stream.return(reply ?? NO_REPLY);
        settle(reply, hasBegun);
      }
    },
  };
}

/** What a stream that is closed early returns; never used. */
const NO_REPLY: Reply = { finishReason: '', usage: {}, model: '' };

interface AdmittedCall {
  readonly request: ModelRequest;
  readonly isLowered: boolean;
  /** To be called once, when the call has ended. */
  settle(reply: Reply | undefined, hasBegun: boolean): void;
}

/** Reserves the most that the call can cost. Throws AppError `limit` if that leaves no room for an answer. */
function admitCall(
  asked: ModelRequest,
  { models, backend, account, overrides, hint, now }: LimitedCalls,
): AdmittedCall {
  const serviceTier = readServiceTier(asked);
  const context = { at: now(), backend, overrides, serviceTier };
  const promptTokens = estimateRequest(asked);
  const { maxOutputTokens: wanted } = asked.generationConfig;
  const most = typeof wanted === 'number' ? wanted : Number.POSITIVE_INFINITY;
  const affordable = Math.min(
    ...models.map((model) => countAffordableTokens(account.left, { ...context, model, promptTokens }) ?? 0),
  );
  if (affordable < Math.min(MIN_OUTPUT, most)) throw spentError(account, hint);
  const output = Math.min(most, affordable);
  const estimate = (candidatesTokenCount: number): number =>
    Math.max(
      ...models.map(
        (model) => computeCost({ promptTokenCount: promptTokens, candidatesTokenCount }, { ...context, model }) ?? 0,
      ),
    );
  const settle = account.reserve(Number.isFinite(output) ? estimate(output) : 0);
  const isLowered = output < most;
  return {
    request: isLowered ? { ...asked, generationConfig: { ...asked.generationConfig, maxOutputTokens: output } } : asked,
    isLowered,
    settle(reply, hasBegun) {
      if (reply === undefined) return settle(hasBegun ? estimate(0) : 0);
      const { model, promptTokens: length, serviceTier: served = serviceTier } = reply;
      const usage = { ...reply.usage, ...reply.details };
      const price = (id: string): number | undefined =>
        computeCost(usage, { ...context, at: now(), model: id, serviceTier: served, promptTokens: length });
      // A reply may name a model without a price: it is billed as the requested one, else as estimated.
      settle(price(model) ?? price(asked.model) ?? estimate(Number.isFinite(output) ? output : 0));
    },
  };
}

function readServiceTier(request: ModelRequest): string | undefined {
  const { serviceTier } = request as { readonly serviceTier?: unknown };
  return typeof serviceTier === 'string' ? serviceTier : undefined;
}

function cutNotice({ generationConfig }: ModelRequest, { limit }: Account): ReplyEvent {
  const message = `--max-cost ${limit} left room for ${generationConfig.maxOutputTokens} tokens of this answer`;
  return { type: 'notice', message };
}

function spentError({ limit, spent }: Account, hint: string): AppError {
  const message = `stopped at --max-cost: ${formatDollars(spent)} of ${formatDollars(limit)} is spent, and the rest does not buy the next answer`;
  return new AppError('limit', message, { hint });
}

function noPriceError(model: string, backend: Backend): AppError {
  if (backend === 'code-assist') {
    return new AppError('usage', '--max-cost means nothing with a Google login, where tokens have no price', {
      hint: 'Leave it out, or use an API key: docs/auth-and-models.md',
    });
  }
  return new AppError('usage', `--max-cost: the price of ${model} is not known`, {
    hint: 'Choose another model with -m, or set "prices" in your settings: docs/configuration.md',
  });
}

/** Bytes of base64 per token of sound, video and documents. Gives rather too many tokens than too few. */
const MEDIA_BYTES = 400;

function estimateRequest({ contents, systemInstruction, tools = [] }: ModelRequest): number {
  const parts = [...contents, ...(systemInstruction === undefined ? [] : [systemInstruction])].flatMap(
    (content) => content.parts,
  );
  const declared = tools.length === 0 ? 0 : estimateTokens(JSON.stringify(tools));
  return parts.reduce((sum, part) => sum + estimatePartTokens(part), declared);
}

function estimatePartTokens(part: Part): number {
  if ('text' in part && typeof part.text === 'string') return estimateTokens(part.text);
  if (!('inlineData' in part)) return estimateTokens(JSON.stringify(part));
  const { mimeType, data } = part.inlineData;
  return mimeType.startsWith('image/') ? MEDIA_TOKENS : Math.max(MEDIA_TOKENS, Math.ceil(data.length / MEDIA_BYTES));
}
