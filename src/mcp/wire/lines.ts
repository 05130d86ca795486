const NEWLINE = 0x0a;

export type Line = { readonly text: string } | { readonly isTooLong: true };

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
  const keep = (part: Uint8Array): void => {
    size += part.length;
    if (size > maxBytes) parts = [];
    else if (part.length > 0) parts.push(part);
  };
  const take = (): Line => {
    const line: Line = size > maxBytes ? { isTooLong: true } : { text: Buffer.concat(parts, size).toString('utf8') };
    parts = [];
    size = 0;
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
