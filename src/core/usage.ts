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

export function addUsage(left: Usage, right: Usage): Usage {
  const sum: { [Key in UsageKey]?: number } = {};
  for (const key of USAGE_KEYS) {
    const a = left[key];
    const b = right[key];
    if (a !== undefined || b !== undefined) sum[key] = (a ?? 0) + (b ?? 0);
  }
  return sum;
}

/** The API counts this many tokens per attachment, whatever its size. */
export const MEDIA_TOKENS = 258;

/** A stable estimate: a token is four ASCII characters; any other character is one and a half tokens. */
export function estimateTokens(text: string): number {
  let ascii = 0;
  let other = 0;
  for (const character of text) {
    if (character <= '\u007f') ascii += 1;
    else other += 1;
  }
  return Math.ceil(ascii / 4 + other * 1.5);
}
