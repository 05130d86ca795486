import { MAX_MESSAGE_BYTES } from '../client/limits.ts';

/** A line of a server's output, or that one was longer than gmn takes; nothing comes after that. */
type Line = { readonly text: string } | { readonly isTooLong: true };

/** The lines in a stream of bytes, however it is cut; blank ones left out, a byte order mark and `\r` taken off. */
export async function* linesOf(
  bytes: AsyncIterable<Uint8Array>,
  maxBytes: number = MAX_MESSAGE_BYTES,
): AsyncGenerator<Line, void> {
  let pending: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of bytes) {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      pending.push(chunk.subarray(start, end));
      size += end - start;
      start = end + 1;
      if (size > maxBytes) return yield { isTooLong: true };
      const text = textOf(pending);
      if (text !== '') yield { text };
      pending = [];
      size = 0;
    }
    pending.push(chunk.subarray(start));
    size += chunk.length - start;
    if (size > maxBytes) return yield { isTooLong: true };
  }
  const text = textOf(pending);
  if (text !== '') yield { text };
}

function textOf(pieces: readonly Uint8Array[]): string {
  return Buffer.concat(pieces)
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .trim();
}
