import { isUtf8 } from 'node:buffer';

const NEWLINE = 0x0a;

/** In a text that `isInexact`, U+FFFD is in place of bytes that are not UTF-8. */
export type Line =
  | { readonly text: string; readonly isInexact?: true }
  | { readonly isTooLong: true; readonly head: string };

/** Of a line that is too long. */
const HEAD_BYTES = 500;

/**
 * Splits a byte stream into lines of UTF-8, however it is chunked; a last line needs no newline. Holds at most one line
 * in memory. After a line longer than `maxBytes` it goes on with the next, or with `tooLong: 'stop'` ends as soon as
 * the limit is passed, so that an endless line is noticed.
 */
export async function* splitLines(
  chunks: AsyncIterable<Uint8Array>,
  { maxBytes, tooLong }: { readonly maxBytes: number; readonly tooLong: 'stop' | 'skip' },
): AsyncGenerator<Line, void> {
  let parts: Uint8Array[] = [];
  let size = 0;
  let isCut = false;
  const keep = (part: Uint8Array): void => {
    size += part.length;
    if (part.length > 0 && !isCut) parts.push(part);
    if (size <= maxBytes || isCut) return;
    isCut = true;
    parts = [Buffer.concat(parts, Math.min(size, HEAD_BYTES))];
  };
  const take = (): Line => {
    const bytes = Buffer.concat(parts);
    const text = bytes.toString('utf8');
    const isInexact = !isCut && text.includes('\ufffd') && !isUtf8(bytes);
    const line: Line = isCut ? { isTooLong: true, head: text } : isInexact ? { text, isInexact } : { text };
    parts = [];
    size = 0;
    isCut = false;
    return line;
  };
  const mustStop = (): boolean => tooLong === 'stop' && size > maxBytes;
  for await (const chunk of chunks) {
    let at = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, at)) {
      keep(chunk.subarray(at, end));
      if (mustStop()) return yield take();
      yield take();
      at = end + 1;
    }
    keep(chunk.subarray(at));
    if (mustStop()) return yield take();
  }
  if (size > 0) yield take();
}

export function trimLine(text: string): string {
  return text.replace(/^\uFEFF/, '').trim();
}
