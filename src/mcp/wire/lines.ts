/** The longest message; a base64 image of 20 MB fits. */
export const MAX_BYTES = 32_000_000;

const NEWLINE = 0x0a;

/** A line, or a sign that there was one too long to be kept. */
export type Line = { readonly text: string } | { readonly isTooLong: true };

/** The lines of a byte stream, decoded as UTF-8; what follows the last newline too. Holds at most one line in memory. */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>, maxBytes = MAX_BYTES): AsyncGenerator<Line, void> {
  let parts: Uint8Array[] = [];
  let size = 0;
  const take = (): Line => {
    const line: Line = size > maxBytes ? { isTooLong: true } : { text: Buffer.concat(parts, size).toString('utf8') };
    parts = [];
    size = 0;
    return line;
  };
  const keep = (part: Uint8Array): void => {
    size += part.length;
    if (size > maxBytes) parts = [];
    else if (part.length > 0) parts.push(part);
  };
  for await (const chunk of chunks) {
    let at = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, at)) {
      keep(chunk.subarray(at, end));
      yield take();
      at = end + 1;
    }
    keep(chunk.subarray(at));
  }
  if (size > 0) yield take();
}
