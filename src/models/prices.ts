import { isObject } from '../core/json.ts';
import { type BilledCall, countUnnamed, type ModalityCount, type Usage, type UsageDetails } from '../core/usage.ts';
import { BACKENDS, type Backend, listFamily } from './table.ts';

/** Dollars per million tokens. A rate that is absent is that of `input`, `cached` or `output`. */
interface Rates {
  readonly input?: number;
  readonly output?: number;
  /** Input tokens that came from the service's cache. Absent: they cost as much as the others. */
  readonly cached?: number;
  readonly inputAudio?: number;
  readonly cachedAudio?: number;
  readonly inputImage?: number;
  readonly inputVideo?: number;
  readonly outputAudio?: number;
  readonly outputImage?: number;
  readonly outputVideo?: number;
}

/** What a model costs; without any rate it is free of charge. */
interface Price extends Rates {
  /** Rates of calls with more than `above` tokens of prompt. */
  readonly steps?: readonly PriceStep[];
  /** What a call in the tier `priority` costs more, as a factor. Absent: not known. */
  readonly priority?: number;
}

interface PriceStep extends Rates {
  readonly above: number;
}

/** Prices of the settings, by model; a name that ends in `*` is a prefix. */
export type PriceOverrides = Readonly<Record<string, Price>>;

export interface BilledUsage extends Usage, UsageDetails {}

interface PriceContext {
  /** As the server or the user names it, with or without `models/` and the like. */
  readonly model: string;
  /** In milliseconds since the epoch. */
  readonly at: number;
  readonly backend?: Backend;
  readonly overrides?: PriceOverrides;
}

interface PriceLimit {
  /** Those of the context, and the limit. */
  readonly overrides: PriceOverrides;
  readonly notice: string;
}

export interface CostContext extends PriceContext {
  /** The tier that the service used: `flex`, `priority` or `standard`, in any case. */
  readonly serviceTier?: string;
  readonly isBatch?: boolean;
  /** The length of the prompt, if the usage is that of several connections added up. */
  readonly promptTokens?: number;
}

type Match =
  | { readonly equals: string }
  | { readonly starts_with: string }
  | { readonly ends_with: string }
  | { readonly contains: string }
  | { readonly regex: string }
  | { readonly or: readonly Match[] }
  | { readonly and: readonly Match[] };

interface PriceTable {
  /** The version of the package that the prices come from; it shows their age. */
  readonly version: string;
  readonly rows: readonly {
    readonly match: Match;
    readonly periods: readonly { readonly from?: string; readonly price: Price }[];
  }[];
}

/** JSON, which scripts/prices.mjs makes while gmn is built. */
declare const PRICE_TABLE: string;

const { version, rows } = JSON.parse(PRICE_TABLE) as PriceTable;

export const PRICES_VERSION: string = version;

const MILLION = 1_000_000;

/** The service's Batch API and its tier `flex` cost half. */
const HALF = 0.5;

/** Models with one of these in their name have their own price; a rule for the whole family does not apply to them. */
const VARIANTS = ['tts', 'image', 'live', 'lite', 'audio', 'embedding'] as const;

/** The price of a model at a time; undefined if it is not known, and with a Google login, which is not billed by tokens. */
export function findPrice({ model, at, backend = 'gemini-api', overrides = {} }: PriceContext): Price | undefined {
  const id = model.slice(model.lastIndexOf('/') + 1).toLowerCase();
  const own = findOverride(id, overrides);
  if (own !== undefined) return own;
  if (backend === 'code-assist') return undefined;
  // A version, as in gemini-2.5-flash-001, costs what the model costs.
  const row = findRow(id) ?? findRow(id.replace(/-\d{3}$/, ''));
  if (row === undefined || !isOfVariant(row.match, id)) return undefined;
  const price = row.periods.findLast(({ from }) => from === undefined || at >= Date.parse(from))?.price;
  // Models that are free on the Gemini API run on the user's own machines on Vertex AI, at their price.
  return price?.input === undefined && backend !== 'gemini-api' ? undefined : price;
}

/**
 * What a model without a price costs at most: the dearest price of its family. Undefined if it has a price of its own,
 * or no family that gmn knows.
 */
export function findPriceLimit(context: PriceContext): PriceLimit | undefined {
  if (findPrice(context) !== undefined) return undefined;
  const id = context.model.slice(context.model.lastIndexOf('/') + 1);
  const known = listFamily(id).map((facts) => ({ model: facts.id, price: findPrice({ ...context, model: facts.id }) }));
  const [dearest] = known.toSorted((left, right) => (right.price?.output ?? 0) - (left.price?.output ?? 0));
  if (dearest?.price === undefined) return undefined;
  const notice = `the price of ${id} is not known: --max-cost counts it as ${dearest.model}, the dearest of its family`;
  return { overrides: { ...context.overrides, [id]: dearest.price }, notice };
}

/** In dollars; undefined if it is not known, as without counts, or a price for the model, the tier or the output. */
export function computeCost(usage: BilledUsage, context: CostContext): number | undefined {
  const price = findPrice(context);
  const factor = price && findFactor(price, context);
  if (price === undefined || factor === undefined) return undefined;
  if (usage.promptTokenCount === undefined && usage.candidatesTokenCount === undefined) return undefined;
  const prompt = toTokenCount(usage.promptTokenCount) + toTokenCount(usage.toolUsePromptTokenCount);
  const rates = findRates(price, context.promptTokens ?? prompt);
  const cached = Math.min(toTokenCount(usage.cachedContentTokenCount), prompt);
  const named = toTokenCount(usage.candidatesTokenCount) + toTokenCount(usage.thoughtsTokenCount);
  const output = named + countUnnamed(usage);
  const { input: perInput, output: perOutput } = rates;
  if (perInput === undefined && perOutput === undefined) return 0;
  if (perInput === undefined || (perOutput === undefined && output > 0)) return undefined;

  const inputModalities = sumModalities([usage.promptTokensDetails, usage.toolUsePromptTokensDetails], prompt);
  const cachedModalities = sumModalities([usage.cacheTokensDetails], cached);
  const isMixed = (['audio', 'image', 'video'] as const).some(
    (kind) => inputModalities[kind] > 0 && (rates[INPUT[kind]] ?? perInput) !== perInput,
  );
  if (isMixed && cached > 0 && cachedModalities.total !== cached) return undefined;
  const fresh = sumInput(inputModalities, cachedModalities, prompt, cached);
  const inputCost =
    fresh.other * perInput +
    fresh.audio * (rates.inputAudio ?? perInput) +
    fresh.image * (rates.inputImage ?? perInput) +
    fresh.video * (rates.inputVideo ?? perInput);
  const outputModalities = sumModalities([usage.candidatesTokensDetails], toTokenCount(usage.candidatesTokenCount));
  const per = perOutput ?? 0;
  const outputCost =
    (output - outputModalities.audio - outputModalities.image - outputModalities.video) * per +
    outputModalities.audio * (rates.outputAudio ?? per) +
    outputModalities.image * (rates.outputImage ?? per) +
    outputModalities.video * (rates.outputVideo ?? per);
  const cachedCost = computeCachedCost(rates, cachedModalities, cached, perInput);
  // The Batch API has no discount on cached tokens.
  const cachedFactor = context.isBatch && rates.cached !== undefined ? 1 : factor;
  return ((inputCost + outputCost) * factor + cachedCost * cachedFactor) / MILLION;
}

export function sumCosts(calls: readonly BilledCall[], overrides?: PriceOverrides): number | undefined {
  let sum = 0;
  for (const { usage, backend: name, ...call } of calls) {
    // `demo`, the offline model, is not among them.
    const backend = BACKENDS.find((each) => each === name);
    const cost = backend && computeCost(usage, { ...call, backend, overrides });
    if (cost === undefined) return undefined;
    sum += cost;
  }
  return Math.round(sum * 1e9) / 1e9;
}

/** Undefined without a price, Infinity if free. */
export function countAffordableTokens(
  dollars: number,
  { promptTokens = 0, ...context }: CostContext,
): number | undefined {
  const prompt = computeCost({ promptTokenCount: promptTokens }, context);
  const withOutput = computeCost({ promptTokenCount: promptTokens, candidatesTokenCount: MILLION }, context);
  if (prompt === undefined || withOutput === undefined) return undefined;
  const perToken = (withOutput - prompt) / MILLION;
  if (dollars < prompt) return 0;
  return perToken === 0 ? Number.POSITIVE_INFINITY : Math.max(0, Math.floor((dollars - prompt) / perToken));
}

function findOverride(id: string, overrides: PriceOverrides): Price | undefined {
  const names = Object.keys(overrides)
    .filter((name) => (name.endsWith('*') ? id.startsWith(name.slice(0, -1).toLowerCase()) : id === name.toLowerCase()))
    .sort((a, b) => Number(a.endsWith('*')) - Number(b.endsWith('*')) || b.length - a.length);
  const [best] = names;
  return best === undefined ? undefined : overrides[best];
}

function findRow(id: string): PriceTable['rows'][number] | undefined {
  return rows.find(({ match }) => matchesModel(match, id));
}

function matchesModel(match: Match, id: string): boolean {
  if ('or' in match) return match.or.some((each) => matchesModel(each, id));
  if ('and' in match) return match.and.every((each) => matchesModel(each, id));
  if ('equals' in match) return id === match.equals.toLowerCase();
  if ('starts_with' in match) return id.startsWith(match.starts_with.toLowerCase());
  if ('ends_with' in match) return id.endsWith(match.ends_with.toLowerCase());
  if ('contains' in match) return id.includes(match.contains.toLowerCase());
  return new RegExp(match.regex).test(id);
}

function isOfVariant(match: Match, id: string): boolean {
  const rule = JSON.stringify(match);
  return VARIANTS.every((variant) => !id.split('-').includes(variant) || rule.includes(variant));
}

function findFactor(price: Price, { serviceTier, isBatch }: CostContext): number | undefined {
  if (isBatch) return HALF;
  switch (serviceTier?.toLowerCase().replace(/^service_tier_/, '') ?? '') {
    case '':
    case 'standard':
    case 'unspecified':
      return 1;
    case 'flex':
      return HALF;
    case 'priority':
      return price.priority;
    default:
      return undefined;
  }
}

function findRates({ steps = [], ...rates }: Price, promptTokens: number): Rates {
  const passed = steps.filter(({ above }) => promptTokens > above).sort((a, b) => a.above - b.above);
  return { ...rates, ...passed.at(-1) };
}

interface Modalities {
  audio: number;
  image: number;
  video: number;
  total: number;
}

const INPUT = { audio: 'inputAudio', image: 'inputImage', video: 'inputVideo' } as const;

/** Tokens by modality, at most `limit` of them in all. A page of a document is an image. */
function sumModalities(lists: readonly (readonly ModalityCount[] | undefined)[], limit: number): Modalities {
  const sum: Modalities = { audio: 0, image: 0, video: 0, total: 0 };
  for (const entry of lists.flatMap((list) => (Array.isArray(list) ? list : []))) {
    const { modality, tokenCount } = isObject(entry) ? entry : {};
    const tokens = Math.min(toTokenCount(tokenCount), limit - sum.total);
    const name = typeof modality === 'string' ? modality.toLowerCase() : '';
    const kind = name === 'document' ? 'image' : name;
    if (kind === 'audio' || kind === 'image' || kind === 'video') sum[kind] += tokens;
    sum.total += tokens;
  }
  return sum;
}

function sumInput(inputModalities: Modalities, cachedModalities: Modalities, prompt: number, cached: number) {
  const audio = Math.max(0, inputModalities.audio - cachedModalities.audio);
  const image = Math.max(0, inputModalities.image - cachedModalities.image);
  const video = Math.max(0, inputModalities.video - cachedModalities.video);
  return { audio, image, video, other: Math.max(0, prompt - cached - audio - image - video) };
}

function computeCachedCost(
  rates: Rates,
  { audio, image, video }: Modalities,
  cached: number,
  perInput: number,
): number {
  const { cached: per, cachedAudio } = rates;
  if (per !== undefined) return (cached - audio) * per + audio * (cachedAudio ?? per);
  return (
    (cached - audio - image - video) * perInput +
    audio * (rates.inputAudio ?? perInput) +
    image * (rates.inputImage ?? perInput) +
    video * (rates.inputVideo ?? perInput)
  );
}

/** Servers may send anything; only a positive number counts. */
function toTokenCount(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;
}
