import { AppError } from '../../core/error.ts';
import { decodeText } from '../../core/text/decode.ts';
import { isBlockMark } from './folds.ts';
import type { Entry, LineSource } from './source.ts';

const NOOP = (): void => {};

/**
 * The lines of a pipe or a file, each an entry; the lines between two lines of `"""` are one entry. Lines end with LF
 * or CRLF; the last one needs no end. Strict UTF-8, or UTF-16 with a byte order mark; the mark is dropped. `read`
 * rejects if `bytes` does, and with AppError `usage` at a line that is not text.
 */
export function pipedLines(bytes: AsyncIterable<Uint8Array>): LineSource {
  const entries = splitEntries(decodeLines(bytes));
  return {
    isTerminal: false,
    async read() {
      const { value, done } = await entries.next();
      const entry: Entry = done ? { kind: 'end' } : { kind: 'text', text: value };
      return entry;
    },
    watch: () => NOOP,
    keepTypedKeys: NOOP,
    withTerminal: (work) => work(),
    async close() {
      // Ends the source, which closes its descriptor. Not awaited: a pending read could block forever.
      entries.return().catch(NOOP);
    },
  };
}

async function* splitEntries(lines: AsyncIterable<string>): AsyncGenerator<string, void> {
  let block: string[] | undefined;
  for await (const line of lines) {
    if (isBlockMark(line)) {
      if (block !== undefined) yield block.join('\n');
      block = block === undefined ? [] : undefined;
    } else if (block !== undefined) block.push(line);
    else yield line;
  }
  if (block !== undefined) yield block.join('\n');
}

const LINE_FEED = Buffer.of(0x0a);

async function* decodeLines(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  let pieces: Uint8Array[] = [];
  let count = 0;
  let hasUtf16Mark = false;
  for await (const chunk of bytes) {
    let start = 0;
    for (let end = chunk.indexOf(0x0a); end !== -1 && !hasUtf16Mark; end = chunk.indexOf(0x0a, start)) {
      const line = Buffer.concat([...pieces, chunk.subarray(start, end)]);
      hasUtf16Mark = count === 0 && isUtf16(line);
      if (hasUtf16Mark) break;
      count += 1;
      yield stripReturn(decodePipedLine(line, count));
      pieces = [];
      start = end + 1;
    }
    pieces.push(chunk.subarray(start));
  }
  const rest = Buffer.concat(pieces);
  // UTF-16 files come from PowerShell and are never interactive, so they are read whole.
  if (count === 0 && isUtf16(rest)) yield* splitUtf16Lines(rest);
  else {
    const last = decodePipedLine(rest, count + 1);
    if (last !== '') yield stripReturn(last);
  }
}

function isUtf16([first, second]: Uint8Array): boolean {
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
}

function* splitUtf16Lines(bytes: Uint8Array): Generator<string, void> {
  const decoded = decodeText(bytes);
  if (!decoded.isText) throw notLinesError('stdin is not text: it is marked as UTF-16, but is not UTF-16');
  const lines = decoded.text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  for (const line of lines) yield stripReturn(line);
}

/** Strict UTF-8; a byte order mark is dropped on the first line only. */
function decodePipedLine(bytes: Uint8Array, line: number): string {
  // After a line feed the decoder takes nothing for a byte order mark.
  const decoded = decodeText(line === 1 ? bytes : Buffer.concat([LINE_FEED, bytes]));
  if (decoded.isText) return line === 1 ? decoded.text : decoded.text.slice(1);
  throw notLinesError(`line ${line} of stdin is not text`);
}

function notLinesError(message: string): AppError {
  return new AppError('usage', message, {
    hint: 'A chat reads lines of UTF-8. To send a file along: gmn chat -f <file>',
  });
}

function stripReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}
