import type { KeptContent, MediaPart, Part } from '../core/content.ts';
import type { BlobFiles } from '../platform/files/blobs.ts';
import { type Apart, contentsOf, type Entry, type Line, lineText } from './record.ts';

/** Base64 is a third longer than the bytes it stands for. */
const LONGEST_INLINE = Math.ceil((64 * 1024 * 4) / 3);

/** Whether an entry has media that are kept apart from its line. */
export function isHeavy(entry: Entry): boolean {
  return contentsOf(entry).some(({ parts }) => parts.some(isLarge));
}

/** The text of a line whose large media are kept as blobs. Throws what the system says. */
export async function lineWithoutMedia(line: Line, blobs: BlobFiles): Promise<string> {
  if (!isHeavy(line.entry)) return lineText(line);
  const { entry, apart } = await withoutMedia(line.entry, blobs);
  return lineText({ ...line, entry }, apart);
}

async function withoutMedia(entry: Entry, blobs: BlobFiles): Promise<{ readonly entry: Entry; readonly apart: Apart }> {
  const apart: [number, number, string][] = [];
  const contents: KeptContent[] = [];
  for (const [index, content] of contentsOf(entry).entries()) {
    const parts: Part[] = [];
    for (const [at, part] of content.parts.entries()) {
      const bytes = bytesOf(part);
      if (bytes !== undefined) apart.push([index, at, await blobs.keep(bytes)]);
      parts.push(
        bytes !== undefined && isMedia(part) ? { ...part, inlineData: { ...part.inlineData, data: '' } } : part,
      );
    }
    contents.push({ ...content, parts });
  }
  return { entry: withContents(entry, contents), apart };
}

/** The entry with its media in their places again. One that is gone becomes a text that says so, and is `missed`. */
export async function withMedia(
  entry: Entry,
  apart: Apart,
  { blobs, missed }: { readonly blobs: BlobFiles; readonly missed: () => void },
): Promise<Entry> {
  if (apart.length === 0) return entry;
  const contents = contentsOf(entry).map((content) => ({ ...content, parts: [...content.parts] }));
  for (const [index, at, print] of apart) {
    const parts = contents[index]?.parts;
    const part = parts?.[at];
    if (parts === undefined || part === undefined || !isMedia(part)) continue;
    const bytes = await blobs.fetch(print);
    if (bytes === undefined) missed();
    parts[at] =
      bytes === undefined
        ? { text: `[an attachment of type ${part.inlineData.mimeType} was here; it is no longer kept]` }
        : { ...part, inlineData: { ...part.inlineData, data: bytes.toString('base64') } };
  }
  return withContents(entry, contents);
}

function withContents(entry: Entry, contents: readonly KeptContent[]): Entry {
  if (entry.kind === 'replace') return { ...entry, contents };
  const [content] = contents;
  return 'content' in entry && content !== undefined ? { ...entry, content } : entry;
}

function isMedia(part: Part): part is MediaPart {
  return 'inlineData' in part && typeof part.inlineData?.data === 'string';
}

function isLarge(part: Part): part is MediaPart {
  return isMedia(part) && part.inlineData.data.length > LONGEST_INLINE;
}

/** What is kept apart; undefined for what is small, and for base64 that would come back in another spelling. */
function bytesOf(part: Part): Buffer | undefined {
  if (!isLarge(part)) return undefined;
  const bytes = Buffer.from(part.inlineData.data, 'base64');
  return bytes.toString('base64') === part.inlineData.data ? bytes : undefined;
}
