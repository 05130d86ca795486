/** Tokens that every attachment counts, whatever its size. */
export const MEDIA_TOKENS = 258;

/** A steady estimate: four ASCII characters make a token, any other character one and a half. Empty text has none. */
export function estimateTokens(text: string): number {
  let ascii = 0;
  let other = 0;
  for (const character of text) {
    if (character <= '\u007f') ascii += 1;
    else other += 1;
  }
  return Math.ceil(ascii / 4 + other * 1.5);
}
