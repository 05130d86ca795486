import { AppError } from '../../core/error.ts';
import { decode } from '../../core/text/decode.ts';
import { isBlockMark } from './folds.ts';
import type { Entry, LineSource } from './source.ts';

const NEVER = (): void => {};

/**
 * The lines of a pipe or a file, each an entry; what stands between two lines of `"""` is one entry. Lines end with LF or
 * CRLF, the last one may do without. UTF-8, strictly, or UTF-16 if a byte order mark says so; the mark is dropped. `read`
 * rejects if `bytes` does, and with AppError `usage` at a line that is not text.
 */
export function pipedLines(bytes: AsyncIterable<Uint8Array>): LineSource {
  const entries = entriesOf(linesOf(bytes));
  return {
    isTerminal: false,
    async read() {
      const { value, done } = await entries.next();
      const entry: Entry = done ? { kind: 'end' } : { kind: 'text', text: value };
      return entry;
    },
    watch: () => NEVER,
    // Lines of a pipe are not typed ahead: they were all written before.
    putDown: NEVER,
    lend: (work) => work(),
    async close() {
      // The source lets go of its descriptor when it is left; that it is waiting for more must not matter.
      entries.return().catch(NEVER);
    },
  };
}

async function* entriesOf(lines: AsyncIterable<string>): AsyncGenerator<string, void> {
  let block: string[] | undefined;
  for await (const line of lines) {
    if (isBlockMark(line)) {
      if (block !== undefined) yield block.join('\n');
      block = block === undefined ? [] : undefined;
    } else if (block !== undefined) block.push(line);
    else yield line;
  }
  // The end of the pipe ends a block, too.
  if (block !== undefined) yield block.join('\n');
}

const LINE_FEED = Buffer.of(0x0a);

async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  let pieces: Uint8Array[] = [];
  let count = 0;
  let isWide = false;
  for await (const chunk of bytes) {
    let start = 0;
    for (let end = chunk.indexOf(0x0a); end !== -1 && !isWide; end = chunk.indexOf(0x0a, start)) {
      const line = Buffer.concat([...pieces, chunk.subarray(start, end)]);
      isWide = count === 0 && isMarkedWide(line);
      if (isWide) break;
      count += 1;
      yield withoutReturn(textOf(line, count));
      pieces = [];
      start = end + 1;
    }
    pieces.push(chunk.subarray(start));
  }
  const rest = Buffer.concat(pieces);
  // Files made by PowerShell; nobody waits for an answer between two lines of theirs, so they are read to their end first.
  if (count === 0 && isMarkedWide(rest)) yield* wideLines(rest);
  else {
    const last = textOf(rest, count + 1);
    if (last !== '') yield withoutReturn(last);
  }
}

/** Whether a byte order mark says that it is UTF-16. */
function isMarkedWide([first, second]: Uint8Array): boolean {
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
}

function* wideLines(bytes: Uint8Array): Generator<string, void> {
  const decoded = decode(bytes);
  if (!decoded.isText) throw noText('stdin is not text: it is marked as UTF-16, and is none');
  const lines = decoded.text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  for (const line of lines) yield withoutReturn(line);
}

/** Strictly UTF-8; at the beginning of the first line a mark is dropped. */
function textOf(bytes: Uint8Array, line: number): string {
  // Behind a line feed nothing is taken for a mark.
  const decoded = decode(line === 1 ? bytes : Buffer.concat([LINE_FEED, bytes]));
  if (decoded.isText) return line === 1 ? decoded.text : decoded.text.slice(1);
  throw noText(`line ${line} of stdin is not text`);
}

function noText(message: string): AppError {
  return new AppError('usage', message, {
    hint: 'A chat reads lines of UTF-8. To send a file along: gmn chat -f <file>',
  });
}

function withoutReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}
