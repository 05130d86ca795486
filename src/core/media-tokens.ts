import type { FilePart, MediaPart, Part } from './content.ts';
import { isObject, type JsonObject } from './json.ts';
import type { ModelRequest } from './model.ts';
import { estimateTokens } from './usage.ts';

interface MediaKind {
  readonly type: RegExp;
  /** How many bytes of it are a token, at the least. */
  readonly bytesPerToken: number;
  readonly least: number;
  readonly most: number;
  /** For an address: only the service knows how large the file there is. */
  readonly unknown: number;
}

/** No model reads more than this at once, so a larger file is refused, which costs nothing. */
const WINDOW = 1_048_576;

/**
 * The service counts seconds, pages and tiles, of which gmn knows only the bytes; each figure is of a file with few bytes for
 * them, so that the estimate is rather too high. The first kind that matches counts.
 */
const KINDS: readonly MediaKind[] = [
  // 258 tokens for a tile of 768 x 768, here of 100 kB; newer models count 1,120 for a small picture.
  { type: /^image\//, bytesPerToken: 388, least: 1120, most: WINDOW, unknown: 6192 },
  // 32 tokens a second. Samples have 16 kB a second or more; compressed speech may have 4 kB. Unknown: an hour.
  { type: /^audio\/(?:x-)?(?:wav|aiff|l16|pcm|flac)\b/, bytesPerToken: 500, least: 32, most: WINDOW, unknown: 115_200 },
  { type: /^audio\//, bytesPerToken: 125, least: 32, most: WINDOW, unknown: 115_200 },
  // 300 tokens a second with its sound, of 60 kB. Unknown: ten minutes.
  { type: /^video\//, bytesPerToken: 200, least: 300, most: WINDOW, unknown: 180_000 },
  // 258 tokens a page, of 5 kB; 1,000 pages at most. Unknown: a hundred pages.
  { type: /^application\/pdf\b/, bytesPerToken: 20, least: 258, most: 258_000, unknown: 25_800 },
  // Office files are compressed: a byte may stand for a few characters.
  { type: /^application\/(?:vnd\.|msword\b)/, bytesPerToken: 1, least: 258, most: WINDOW, unknown: 100_000 },
  // Text, in whatever form: three bytes of UTF-8 are a token or less.
  { type: /^/, bytesPerToken: 3, least: 1, most: WINDOW, unknown: 100_000 },
];

/** A cautious estimate for a file of this kind; `bytes` is undefined if its size is not known. */
function estimateMediaTokens(mimeType: string, bytes: number | undefined): number {
  const { bytesPerToken, least, most, unknown } = KINDS.find(({ type }) => type.test(mimeType)) as MediaKind;
  if (bytes === undefined) return unknown;
  return Math.min(most, Math.max(least, Math.ceil(bytes / bytesPerToken)));
}

/** Of all that a request sends, declared functions included. `sizes`: the bytes of uploaded files, by their address. */
export function estimateRequestTokens(
  { contents, systemInstruction, tools = [] }: Pick<ModelRequest, 'contents' | 'systemInstruction' | 'tools'>,
  sizes?: ReadonlyMap<string, number>,
): number {
  const parts = [...contents, ...(systemInstruction === undefined ? [] : [systemInstruction])].flatMap(
    (content) => content.parts,
  );
  const declared = tools.length === 0 ? 0 : estimateTokens(JSON.stringify(tools));
  return parts.reduce((sum, part) => sum + estimatePartTokens(part, sizes), declared);
}

export function estimatePartTokens(part: Part, sizes: ReadonlyMap<string, number> = new Map()): number {
  if ('text' in part && typeof part.text === 'string') return estimateTokens(part.text);
  if ('inlineData' in part && isObject(part.inlineData)) {
    const { mimeType, data } = part.inlineData as Partial<MediaPart['inlineData']>;
    // Base64 has four characters for three bytes.
    return estimateMediaTokens(String(mimeType), (String(data).length * 3) / 4);
  }
  if ('fileData' in part && isObject(part.fileData)) {
    const { fileData, localFile } = part as { readonly fileData: JsonObject } & Pick<FilePart, 'localFile'>;
    return estimateMediaTokens(String(fileData.mimeType), localFile?.bytes ?? sizes.get(String(fileData.fileUri)));
  }
  return estimateTokens(JSON.stringify(part));
}
