import { isCount } from './json.ts';

/** Token counts as the API names them. A count the server did not send is absent, never guessed. */
export type Usage = { readonly [Key in UsageKey]?: number };

export const USAGE_KEYS = [
  'promptTokenCount',
  'candidatesTokenCount',
  'totalTokenCount',
  'cachedContentTokenCount',
  'thoughtsTokenCount',
  'toolUsePromptTokenCount',
] as const;

type UsageKey = (typeof USAGE_KEYS)[number];

export const NO_USAGE: Usage = {};

export interface ModalityCount {
  readonly modality?: string;
  readonly tokenCount?: number;
}

export const DETAIL_KEYS = [
  'promptTokensDetails',
  'cacheTokensDetails',
  'toolUsePromptTokensDetails',
  'candidatesTokensDetails',
] as const;

/** Which of the tokens are text, audio, pictures or video, as the server sent it. Not checked. */
export type UsageDetails = { readonly [Key in (typeof DETAIL_KEYS)[number]]?: readonly ModalityCount[] };

export interface BilledCall {
  readonly model: string;
  readonly usage: Usage & UsageDetails;
  /** In milliseconds since the epoch. */
  readonly at: number;
  /** `demo` is the offline model, which costs nothing. */
  readonly backend: string;
  /** The length of its prompt, if `usage` is that of several calls added up. */
  readonly promptTokens?: number;
  readonly serviceTier?: string;
  readonly isBatch?: boolean;
}

export function addUsage(left: Usage, right: Usage): Usage {
  const sum: { [Key in UsageKey]?: number } = {};
  for (const key of USAGE_KEYS) {
    const a = left[key];
    const b = right[key];
    if (a !== undefined || b !== undefined) sum[key] = (a ?? 0) + (b ?? 0);
  }
  return sum;
}

const PARTS_OF_TOTAL = [
  'promptTokenCount',
  'candidatesTokenCount',
  'thoughtsTokenCount',
  'toolUsePromptTokenCount',
] as const;

/** Tokens of the total that no other count names: output of a kind that the server left out. */
export function countUnnamed(usage: { readonly [Key in UsageKey]?: unknown }): number {
  const { totalTokenCount: total } = usage;
  if (!isCount(total)) return 0;
  const named = PARTS_OF_TOTAL.map((key) => usage[key]).filter(isCount);
  return Math.max(0, total - named.reduce((sum, count) => sum + count, 0));
}

/** The API counts this many tokens per attachment, whatever its size. */
export const MEDIA_TOKENS = 258;

/** A stable estimate: a token is four ASCII characters; any other character is one and a half tokens. */
export function estimateTokens(text: string): number {
  let other = 0;
  let pairs = 0;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit <= 0x7f) continue;
    other += 1;
    // The second half of a character that is two units.
    if (unit >= 0xdc00 && unit <= 0xdfff && isHighSurrogate(text.charCodeAt(index - 1))) pairs += 1;
  }
  return Math.ceil((text.length - other) / 4 + (other - pairs) * 1.5);
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
