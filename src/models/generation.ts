import { AppError } from '../core/error.ts';
import { isObject, type JsonObject, type JsonValue, omitUndefined } from '../core/json.ts';
import type { ThinkingLevel } from '../core/model.ts';
import { formatCount } from '../core/text/format.ts';
import { assumeModelFacts, canThink, findModelFacts, findOutputKind, type ModelFacts } from './table.ts';

export interface Sampling {
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly maxOutputTokens?: number;
  readonly seed?: number;
  readonly stop?: readonly string[];
  readonly option?: readonly string[];
  readonly thinkingLevel?: ThinkingLevel;
  readonly thinkingBudget?: number;
  /** The level was chosen in the words of another program: the nearest that the model takes will do, in tokens if it takes those. */
  readonly thinkingMatch?: 'nearest';
  readonly showThoughts?: boolean;
  /** Somebody watches: asks for the thoughts of a model that thinks anyway, to say what it is thinking about. */
  readonly followThoughts?: boolean;
  /** As the API takes it: `{ aspectRatio, imageSize }`. */
  readonly imageConfig?: JsonObject;
}

const CLASSIC_OUTPUT_LIMIT = 8192;

/** Thinking counts as output, so the classic limit could leave a thinking model without an answer. */
const THINKING_OUTPUT_LIMIT = 65_536;

const MAX_INT32 = 2 ** 31 - 1;

const MODALITIES = { images: ['TEXT', 'IMAGE'], speech: ['AUDIO'] } as const;

/** Flags, else `preset`, else the documented defaults. An explicit 0 is kept. Throws AppError `usage`. */
export function createGenerationConfig(model: string, sampling: Sampling, preset: JsonObject = {}): JsonObject {
  checkSampling(sampling);
  const { temperature, topP, topK, maxOutputTokens, seed, stop, imageConfig } = sampling;
  const { thinkingConfig: usual, ...rest } = preset;
  const chosen = { ...toPresetThinking(usual, sampling), ...toThinkingConfig(model, sampling) };
  const isFollowed = sampling.followThoughts && willThink(model, chosen);
  const thinkingConfig = isFollowed ? { ...chosen, includeThoughts: true } : chosen;
  const makes = findOutputKind(model);
  const hasThinking = Object.keys(thinkingConfig).length > 0;
  const given: JsonObject = omitUndefined({
    temperature,
    topP,
    topK,
    maxOutputTokens,
    seed,
    stopSequences: stop,
    imageConfig,
    thinkingConfig: hasThinking ? thinkingConfig : undefined,
  });
  const samples = findModelFacts(model)?.samples;
  return omitUndefined({
    temperature: samples ? 1 : undefined,
    topP: samples ? 0.95 : undefined,
    topK: samples ? 40 : undefined,
    // The limits of models that make pictures or speech are not known. They make none unless they are told to: Vertex AI answers
    // with text alone, and a model that speaks refuses to.
    maxOutputTokens: makes === undefined ? findOutputLimit(model) : undefined,
    responseModalities: makes && MODALITIES[makes],
    ...rest,
    ...Object.fromEntries((sampling.option ?? []).map(parseOption)),
    ...given,
  });
}

/** They are sent all the same. None for `-latest` names and models that make pictures or speech: that is not known. */
export function findIgnoredSampling(model: string, { temperature, topP, topK }: Sampling): readonly string[] {
  const given = Object.entries({ '--temperature': temperature, '--top-p': topP, '--top-k': topK })
    .filter(([, value]) => value !== undefined)
    .map(([flag]) => flag);
  if (given.length === 0) return [];
  const facts = assumeModelFacts(model);
  const isKnown = facts !== undefined && facts.status !== 'moving' && facts.makes === undefined;
  return isKnown && !facts.samples ? [`${model} ignores ${given.join(', ')}`] : [];
}

function checkSampling({ temperature, topP, topK, maxOutputTokens, seed, stop }: Sampling): void {
  if (temperature !== undefined) checkRange('--temperature', temperature, { min: 0, max: 2 });
  if (topP !== undefined) checkRange('--top-p', topP, { min: 0, max: 1 });
  if (topK !== undefined) checkRange('--top-k', topK, { min: 0, max: MAX_INT32, isWhole: true });
  if (maxOutputTokens !== undefined) {
    checkRange('--max-output-tokens', maxOutputTokens, { min: 1, max: MAX_INT32, isWhole: true });
  }
  if (seed !== undefined) checkRange('--seed', seed, { min: -MAX_INT32 - 1, max: MAX_INT32, isWhole: true });
  if (stop !== undefined) checkStop(stop);
}

/** A request for thoughts is rejected where thinking is off. */
function willThink(model: string, { thinkingBudget, thinkingLevel }: JsonObject): boolean {
  const { thinks = false, makes, budget } = assumeModelFacts(model) ?? {};
  const isOff = thinkingBudget === 0 || thinkingLevel === 'MINIMAL';
  const isOffByDefault = budget?.canBeOff === true && thinkingBudget === undefined;
  return thinks && makes === undefined && !isOff && !isOffByDefault;
}

/** Unless a flag sets it. Drops `includeThoughts`: only gmn asks for thoughts. */
function toPresetThinking(usual: JsonValue | undefined, { thinkingLevel, thinkingBudget }: Sampling): JsonObject {
  if (!isObject(usual) || thinkingLevel !== undefined || thinkingBudget !== undefined) return {};
  const { includeThoughts: _, ...rest } = usual as JsonObject;
  return rest;
}

const MAX_STOPS = 5;

function checkStop(stop: readonly string[]): void {
  if (stop.length > MAX_STOPS) {
    throw new AppError('usage', `--stop: ${stop.length} texts are too many`, {
      hint: `At most ${MAX_STOPS} are possible.`,
    });
  }
  if (stop.includes('')) throw new AppError('usage', '--stop: the text is empty', { hint: 'Example: --stop END' });
}

const FLAGS: ReadonlyMap<string, string> = new Map([
  ['temperature', '--temperature'],
  ['topP', '--top-p'],
  ['topK', '--top-k'],
  ['maxOutputTokens', '--max-output-tokens'],
  ['seed', '--seed'],
  ['stopSequences', '--stop'],
  ['thinkingConfig', '--thinking-level, --thinking-budget or --show-thoughts'],
  ['responseSchema', '--output-schema'],
  ['responseJsonSchema', '--output-schema'],
]);

function parseOption(option: string): readonly [string, JsonValue] {
  const [, key = '', text = ''] = /^([A-Za-z]\w*)=(.*)$/s.exec(option) ?? [];
  if (key === '') {
    throw new AppError('usage', `--option: "${option}" is not key=value`, {
      hint: 'Example: --option presencePenalty=0.5',
    });
  }
  const flag = FLAGS.get(key);
  if (flag !== undefined)
    throw new AppError('usage', `--option: ${key} has a flag of its own`, { hint: `Use ${flag}.` });
  return [key, parseOptionValue(text)];
}

function parseOptionValue(text: string): JsonValue {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function findOutputLimit(model: string): number {
  if (!canThink(model)) return CLASSIC_OUTPUT_LIMIT;
  return Math.min(THINKING_OUTPUT_LIMIT, assumeModelFacts(model)?.outputLimit ?? THINKING_OUTPUT_LIMIT);
}

/** Tokens for models that take a budget in place of a level. */
export const LEVEL_BUDGETS: Readonly<Record<ThinkingLevel, number>> = {
  minimal: 512,
  low: 1024,
  medium: 8192,
  high: 24_576,
  xhigh: 32_768,
};

const LEVELS = Object.keys(LEVEL_BUDGETS) as readonly ThinkingLevel[];

function chooseNearest(model: string, sampling: Sampling): Sampling {
  const { thinkingLevel: wanted, thinkingBudget, thinkingMatch } = sampling;
  if (thinkingMatch === undefined || wanted === undefined || thinkingBudget !== undefined) return sampling;
  const { levels, budget } = assumeModelFacts(model) ?? {};
  if (levels !== undefined) {
    const distance = (level: ThinkingLevel): number => Math.abs(LEVELS.indexOf(level) - LEVELS.indexOf(wanted));
    const [nearest] = levels.toSorted((left, right) => distance(left) - distance(right));
    return { ...sampling, thinkingLevel: nearest };
  }
  // Few models have this level, so it is not tried on those gmn knows nothing about.
  if (budget === undefined) return wanted === 'xhigh' ? { ...sampling, thinkingLevel: 'high' } : sampling;
  const tokens = Math.min(budget.max, Math.max(budget.min, LEVEL_BUDGETS[wanted]));
  return { ...sampling, thinkingLevel: undefined, thinkingBudget: tokens };
}

/** Empty unless the level was chosen in the words of another program, and the model gets another one or fewer tokens. */
export function findThinkingChange(model: string, sampling: Sampling): readonly string[] {
  const { thinkingLevel: wanted, thinkingMatch, thinkingBudget } = sampling;
  if (thinkingMatch === undefined || wanted === undefined || thinkingBudget !== undefined) return [];
  const { thinkingLevel: level, thinkingBudget: tokens } = chooseNearest(model, sampling);
  if (level === wanted || tokens === LEVEL_BUDGETS[wanted]) return [];
  const gets = level ?? `${formatCount(tokens ?? 0)} tokens to think`;
  return [`${model} has no thinking level ${wanted}: it gets ${gets}`];
}

function toThinkingConfig(model: string, sampling: Sampling): JsonObject {
  const { thinkingLevel, thinkingBudget, showThoughts } = chooseNearest(model, sampling);
  if (thinkingLevel !== undefined && thinkingBudget !== undefined) {
    throw new AppError('usage', '--thinking-level and --thinking-budget cannot be used together', {
      hint: 'Use one of them. To see which the model takes: gmn models',
    });
  }
  const facts = assumeModelFacts(model);
  if (thinkingLevel !== undefined) checkLevel(model, facts, thinkingLevel);
  if (thinkingBudget !== undefined) checkBudget(model, facts, thinkingBudget);
  return omitUndefined({
    thinkingLevel: thinkingLevel?.toUpperCase(),
    thinkingBudget,
    // A model that does not think rejects a request for thoughts.
    includeThoughts: (showThoughts && canThink(model)) || undefined,
  });
}

function checkLevel(model: string, facts: Partial<ModelFacts> | undefined, level: ThinkingLevel): void {
  const isUnknown = facts?.levels === undefined && facts?.budget === undefined && !isNonThinking(model);
  if (isUnknown || facts?.levels?.includes(level)) return;
  const instead = facts?.budget && `Give it a budget instead: --thinking-budget ${formatBudgetRange(facts.budget)}`;
  const has = facts?.levels ? `has no thinking level "${level}"` : 'has no thinking levels';
  throw new AppError('usage', `${model} ${has}`, {
    hint: facts?.levels ? `Its levels: ${facts.levels.join(', ')}` : (instead ?? 'Omit --thinking-level.'),
  });
}

/** An older Google model without thinking. About others, such as tuned models, nothing is known. */
function isNonThinking(model: string): boolean {
  return /^gem(?:ini|ma)-/.test(model) && !canThink(model);
}

function checkBudget(model: string, facts: Partial<ModelFacts> | undefined, budget: number): void {
  if (isNonThinking(model)) {
    throw new AppError('usage', `${model} does not think`, { hint: 'Omit --thinking-budget.' });
  }
  const allowed = facts?.budget ?? { min: 0, max: facts?.outputLimit ?? THINKING_OUTPUT_LIMIT };
  const isAllowed = budget >= allowed.min && budget <= allowed.max;
  if (Number.isInteger(budget) && (isAllowed || budget === -1 || (budget === 0 && facts?.budget?.canBeOff))) return;
  throw new AppError('usage', `--thinking-budget: ${budget} is not possible with ${model}`, {
    hint: `Possible: ${formatBudgetRange(allowed)}, or -1 to leave it to the model`,
  });
}

function formatBudgetRange({
  min,
  max,
  canBeOff,
}: {
  readonly min: number;
  readonly max: number;
  readonly canBeOff?: true;
}): string {
  return `${canBeOff ? '0, or ' : ''}${min} to ${max}`;
}

interface Range {
  readonly min: number;
  readonly max: number;
  readonly isWhole?: true;
}

function checkRange(flag: string, value: number, { min, max, isWhole }: Range): void {
  if (value >= min && value <= max && (!isWhole || Number.isInteger(value))) return;
  const end = max === MAX_INT32 && min >= 0 ? `${min} or more` : `${min} to ${max}`;
  throw new AppError('usage', `${flag}: ${value} is out of range`, {
    hint: `It must be ${isWhole ? 'a whole number, ' : ''}${end}.`,
  });
}
