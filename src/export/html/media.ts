import { formatSize } from '../../core/text/size.ts';
import { bytesOf, type Media } from '../transcript.ts';
import { attribute, escaped } from './text.ts';

/** What a browser shows as a still or moving picture and nothing else. */
const IMAGES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif']);

/** A picture inside the page, or a line that names what was attached. */
export function mediaHtml(media: Media): string {
  const words = `${media.mimeType}, ${formatSize(bytesOf(media))}`;
  if (!IMAGES.has(media.mimeType) || !isBase64(media.data)) return `<p class="note">Attached: ${escaped(words)}</p>\n`;
  const image = `<img src="data:${media.mimeType};base64,${media.data}" alt="${attribute(words)}" loading="lazy">`;
  return `<figure>${image}<figcaption>${escaped(words)}</figcaption></figure>\n`;
}

function isBase64(data: string): boolean {
  const digits = data.replace(/={1,2}$/, '');
  return digits !== '' && !/[^A-Za-z0-9+/]/.test(digits);
}
