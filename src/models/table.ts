import type { OfficeGap } from '../core/files.ts';
import type { ThinkingLevel } from '../core/model.ts';

export type Backend = 'gemini-api' | 'vertex' | 'code-assist';

/** Thinking tokens; -1 is always allowed and means that the model decides. */
export interface BudgetRange {
  readonly min: number;
  readonly max: number;
  /** 0 (no thinking) is allowed although it is below `min`. */
  readonly canBeOff?: true;
}

export type Tier = 'free' | 'standard';

export interface ModelFacts {
  readonly id: string;
  /** `retiring`: Google has announced its end, or already answers with another model. `retired`: shut down. */
  readonly status: 'stable' | 'preview' | 'moving' | 'retiring' | 'retired';
  readonly backends: readonly Backend[];
  readonly thinks: boolean;
  readonly levels?: readonly ThinkingLevel[];
  readonly budget?: BudgetRange;
  /** Absent if it ignores temperature, topP and topK, as newer models do. */
  readonly samples?: true;
  readonly makes?: 'images' | 'speech';
  readonly inputLimit?: number;
  readonly outputLimit?: number;
  /** Input, thoughts and output share `inputLimit`. */
  readonly sharesWindow?: true;
  readonly isSlow?: true;
  readonly readsOffice?: true;
  readonly sees: boolean;
  readonly tiers?: readonly Tier[];
  readonly note?: string;
}

export interface ListedModel {
  readonly id: string;
  readonly inputLimit?: number;
  readonly outputLimit?: number;
  readonly thinks?: boolean;
}

export const DEFAULT_MODEL = 'gemini-2.5-flash';

export const BACKENDS: readonly Backend[] = ['gemini-api', 'vertex', 'code-assist'];
const ALL_LEVELS: readonly ThinkingLevel[] = ['minimal', 'low', 'medium', 'high'];
const NO_MINIMAL: readonly ThinkingLevel[] = ['low', 'medium', 'high'];
const UP_TO_XHIGH: readonly ThinkingLevel[] = [...NO_MINIMAL, 'xhigh'];

const GEMINI = { backends: BACKENDS, thinks: true, inputLimit: 1_048_576, outputLimit: 65_536, sees: true } as const;
/** Before Gemini 3.5 Flash. */
const SAMPLING = { ...GEMINI, samples: true } as const;
const GEMMA = {
  ...SAMPLING,
  backends: ['gemini-api'],
  levels: ['minimal', 'high'],
  inputLimit: 262_144,
  outputLimit: 32_768,
} as const;
const WITH_KEY: readonly Backend[] = ['gemini-api', 'vertex'];
const GEMINI_4 = {
  ...GEMINI,
  status: 'stable',
  backends: WITH_KEY,
  levels: NO_MINIMAL,
  sharesWindow: true,
} as const;
const SLOW_GEMINI_4 = { ...GEMINI_4, isSlow: true, note: 'paid projects only' } as const;
/** What the models of a family have in common, for those that are newer than this table. They may be slow. */
const FAMILY = { pattern: /^gemini-[45]-/, facts: { ...GEMINI_4, levels: UP_TO_XHIGH, isSlow: true } } as const;
const IMAGE = { backends: WITH_KEY, status: 'stable', thinks: true, sees: true, makes: 'images' } as const;
const SPEECH = { backends: WITH_KEY, status: 'stable', thinks: false, sees: false, makes: 'speech' } as const;

/**
 * The models known to gmn, as of November 2026. Others can be requested, too.
 * https://ai.google.dev/gemini-api/docs/thinking and https://ai.google.dev/gemini-api/docs/deprecations
 */
export const MODELS: readonly ModelFacts[] = [
  {
    ...SAMPLING,
    id: 'gemini-2.5-flash',
    status: 'retiring',
    tiers: ['free', 'standard'],
    budget: { min: 0, max: 24_576 },
    note: 'gmn’s default; its announced end was in October 2026',
  },
  {
    ...SAMPLING,
    id: 'gemini-2.5-pro',
    status: 'retiring',
    tiers: ['free', 'standard'],
    budget: { min: 128, max: 32_768 },
    note: 'its announced end was in October 2026',
  },
  {
    ...SAMPLING,
    id: 'gemini-2.5-flash-lite',
    status: 'retiring',
    budget: { min: 512, max: 24_576, canBeOff: true },
  },
  {
    ...SAMPLING,
    id: 'gemini-3-pro-preview',
    status: 'retired',
    tiers: ['standard'],
    levels: ['low', 'high'],
    note: 'shut down in March 2026; the Gemini API answers with gemini-3.1-pro-preview',
  },
  { ...SAMPLING, id: 'gemini-3-flash-preview', status: 'preview', tiers: ['standard'], levels: ALL_LEVELS },
  {
    ...SAMPLING,
    id: 'gemini-3-flash',
    status: 'stable',
    backends: ['code-assist'],
    levels: ALL_LEVELS,
    note: 'Code Assist’s name for gemini-3.5-flash',
  },
  { ...SAMPLING, id: 'gemini-3.1-pro-preview', status: 'preview', levels: NO_MINIMAL },
  {
    ...SAMPLING,
    id: 'gemini-3.1-pro-preview-customtools',
    status: 'preview',
    backends: WITH_KEY,
    levels: NO_MINIMAL,
  },
  { ...SAMPLING, id: 'gemini-3.1-flash-lite', status: 'stable', levels: ALL_LEVELS },
  {
    ...SAMPLING,
    id: 'gemini-3.1-flash-lite-preview',
    status: 'retired',
    levels: ALL_LEVELS,
    note: 'shut down in May 2026',
  },
  {
    ...GEMINI,
    id: 'gemini-3.5-flash',
    status: 'retiring',
    backends: WITH_KEY,
    levels: ALL_LEVELS,
    note: 'the Gemini API answers with gemini-3.6-flash',
  },
  { ...GEMINI, id: 'gemini-3.5-flash-lite', status: 'stable', levels: ALL_LEVELS },
  { ...GEMINI, id: 'gemini-3.6-flash', status: 'stable', backends: WITH_KEY, levels: ALL_LEVELS },
  {
    ...GEMINI,
    id: 'gemini-3.7-flash',
    status: 'retiring',
    backends: WITH_KEY,
    levels: NO_MINIMAL,
    note: 'the Gemini API answers with gemini-3.8-flash',
  },
  { ...GEMINI, id: 'gemini-3.8-flash', status: 'stable', levels: NO_MINIMAL },
  {
    ...GEMINI_4,
    id: 'gemini-4-hydrogen',
    levels: UP_TO_XHIGH,
    readsOffice: true,
    note: 'has a free tier; reads Office files',
  },
  { ...SLOW_GEMINI_4, id: 'gemini-4-argon' },
  { ...SLOW_GEMINI_4, id: 'gemini-4-carbon', readsOffice: true, note: 'paid projects only; reads Office files' },
  {
    ...GEMINI,
    id: 'gemini-flash-latest',
    status: 'moving',
    backends: ['gemini-api'],
    levels: NO_MINIMAL,
    note: 'the newest flash',
  },
  { ...GEMINI, id: 'gemini-flash-lite-latest', status: 'moving', backends: ['gemini-api'], note: 'the newest lite' },
  { ...GEMINI, id: 'gemini-pro-latest', status: 'moving', backends: ['gemini-api'], note: 'the newest pro' },
  { ...GEMMA, id: 'gemma-4-31b-it', status: 'stable' },
  { ...GEMMA, id: 'gemma-4-26b-a4b-it', status: 'stable' },
  {
    ...IMAGE,
    id: 'gemini-2.5-flash-image',
    status: 'retiring',
    thinks: false,
    note: 'makes images; its announced end was in October 2026',
  },
  { ...IMAGE, id: 'gemini-3.1-flash-image' },
  { ...IMAGE, id: 'gemini-3.1-flash-lite-image' },
  { ...IMAGE, id: 'gemini-3-pro-image' },
  { ...IMAGE, id: 'gemini-nano-banana-2.1', backends: ['gemini-api'] },
  { ...SPEECH, id: 'gemini-3.8-flash-tts' },
  { ...SPEECH, id: 'gemini-3.8-flash-lite-tts' },
  { ...SPEECH, id: 'gemini-3.1-flash-tts-preview', status: 'preview' },
];

/** What others are compared with, whatever `gemini-flash-latest` means today. */
export const FLASH_MODEL = 'gemini-3.8-flash';

export const FALLBACK_MODELS: Readonly<Record<Backend, string>> = {
  'gemini-api': 'gemini-flash-latest',
  vertex: FLASH_MODEL,
  'code-assist': 'gemini-3-flash',
};

const PRO: Readonly<Record<Backend, string>> = {
  'gemini-api': 'gemini-pro-latest',
  vertex: 'gemini-3.1-pro-preview',
  'code-assist': 'gemini-2.5-pro',
};

/** Default of the MCP server's plain tools; earlier servers with these tools used the same. */
const PLAIN_MODEL = 'gemini-3-pro-preview';

/** Aliases by backend. `auto…` is handled elsewhere: it means the default. */
export const ALIASES: Readonly<Record<string, Readonly<Record<Backend, string>>>> = {
  'gemini-3-pro': onEveryBackend('gemini-3-pro-preview'),
  'gemini-3-flash': { ...onEveryBackend('gemini-3-flash-preview'), 'code-assist': 'gemini-3-flash' },
  pro: PRO,
  flash: FALLBACK_MODELS,
  'flash-lite': { ...onEveryBackend('gemini-3.1-flash-lite'), 'gemini-api': 'gemini-flash-lite-latest' },
};

export interface BuiltInModel {
  readonly id: string;
  readonly fallbacks: Readonly<Record<Backend, string>>;
  readonly choose: { readonly once: string; readonly now: string };
}

export const BUILT_IN: BuiltInModel = {
  id: DEFAULT_MODEL,
  fallbacks: FALLBACK_MODELS,
  choose: { once: 'set GMN_MODEL to choose', now: 'choose one with -m or GMN_MODEL' },
};

/** Settings do not change it: the schemas of these tools name it. */
export const PLAIN_BUILT_IN: BuiltInModel = {
  id: PLAIN_MODEL,
  fallbacks: PRO,
  choose: { once: 'give `model` to choose', now: 'give one as `model`' },
};

export function findModelFacts(id: string): ModelFacts | undefined {
  return MODELS.find((model) => model.id === id);
}

/** Whether the table has models of its family, but not this one. Models for media and the like are families of their own. */
export function isNewOfFamily(id: string): boolean {
  return FAMILY.pattern.test(id) && !/-(?:image|tts|live|audio|embedding|banana)\b/.test(id) && !findModelFacts(id);
}

/** The facts of the table; of a model that is newer, what its family has in common. */
export function assumeModelFacts(id: string): Partial<ModelFacts> | undefined {
  return findModelFacts(id) ?? (isNewOfFamily(id) ? FAMILY.facts : undefined);
}

/** The known models of the family that it is new of; else none. */
export function listFamily(id: string): readonly ModelFacts[] {
  return isNewOfFamily(id) ? MODELS.filter((known) => FAMILY.pattern.test(known.id)) : [];
}

/** How many tokens of input leave room for an answer; undefined if neither the model nor its family is in the table. */
export function findPromptWindow(id: string): number | undefined {
  const { inputLimit, outputLimit = 0, sharesWindow } = assumeModelFacts(id) ?? {};
  return inputLimit === undefined || !sharesWindow ? inputLimit : inputLimit - outputLimit;
}

/** The first of these models that does not read Office files, and one that does. The service decides for models gmn does not know. */
export function findOfficeGap(ids: readonly string[]): OfficeGap | undefined {
  const model = ids.find((id) => findModelFacts(id)?.readsOffice === undefined && findModelFacts(id) !== undefined);
  const reader = MODELS.find(({ readsOffice }) => readsOffice)?.id;
  return model === undefined || reader === undefined ? undefined : { model, reader };
}

/** Whether minutes may pass before the first token. Guesses from the family name if gmn does not know the model. */
export function isSlowModel(id: string): boolean {
  const facts = findModelFacts(id);
  return facts === undefined ? /^gemini-[4-9]/.test(id) : facts.isSlow === true;
}

export const IMAGE_BUILT_IN: BuiltInModel = {
  id: 'gemini-3.1-flash-image',
  fallbacks: onEveryBackend('gemini-3.1-flash-lite-image'),
  choose: { once: 'give -m to choose', now: 'choose one with -m' },
};

export const EMBEDDING_MODEL = 'gemini-embedding-001';

/** What it answers with besides text; guesses from the name if gmn does not know the model. */
export function findOutputKind(id: string): ModelFacts['makes'] {
  const facts = findModelFacts(id);
  if (facts !== undefined) return facts.makes;
  if (/-tts(?:-|$)/.test(id)) return 'speech';
  return /^gemini-.*-image(?:-|$)|nano-banana/.test(id) ? 'images' : undefined;
}

export function makesPictures(id: string): boolean {
  return findOutputKind(id) === 'images';
}

/** Whether a request may have functions and the service's own tools. True for a model that gmn does not know. */
export function canMixTools(id: string): boolean {
  return !/^(?:gemini-[12]\b|gemma-)/.test(id);
}

export function canThink(id: string): boolean {
  if (findOutputKind(id) === 'speech') return false;
  return (
    findModelFacts(id)?.thinks ?? /^(?:gemini-(?:2\.5|[3-9]|(?:pro|flash|flash-lite)-latest)|gemma-[4-9])/.test(id)
  );
}

function onEveryBackend(id: string): Readonly<Record<Backend, string>> {
  return { 'gemini-api': id, vertex: id, 'code-assist': id };
}
