import { isObject } from '../core/json.ts';
import { formatSize } from '../core/text/size.ts';
import { trimTrailing } from '../core/text/trim.ts';
import { type DemoPart, parseObject } from './request.ts';

const KINDS: readonly (readonly [RegExp, string, string])[] = [
  [/^image\//, 'image', 'images'],
  [/^audio\//, 'audio file', 'audio files'],
  [/^video\//, 'video', 'videos'],
  [/^application\/pdf$/, 'PDF', 'PDFs'],
  [/^/, 'file', 'files'],
];

/** True if a part is an attachment, by value or by address. */
export function isMedia(part: DemoPart): boolean {
  return isObject(part.inlineData) || isObject(part.fileData);
}

/** What is attached, in words: `1 image (image/png, 1.2 kB) and 1 PDF (application/pdf, 88 B)`. */
export function describeMedia(parts: readonly DemoPart[]): string {
  const items = parts.filter(isMedia).map((part) => {
    const inline = parseObject(part.inlineData ?? part.fileData);
    const mimeType = String(inline.mimeType ?? 'unknown type');
    const size = typeof inline.data === 'string' ? formatSize(base64Bytes(inline.data)) : String(inline.fileUri ?? '');
    return { mimeType, about: `${mimeType}, ${size}` };
  });
  const groups = KINDS.map(([, one, many], rank) => {
    const found = items.filter((item) => KINDS.findIndex(([earlier]) => earlier.test(item.mimeType)) === rank);
    const noun = found.length === 1 ? one : many;
    return found.length === 0 ? '' : `${found.length} ${noun} (${found.map(({ about }) => about).join('; ')})`;
  }).filter((group) => group !== '');
  return groups.length < 2 ? groups.join('') : `${groups.slice(0, -1).join(', ')} and ${groups.at(-1)}`;
}

function base64Bytes(data: string): number {
  return Math.floor((trimTrailing(data, '=').length * 3) / 4);
}
