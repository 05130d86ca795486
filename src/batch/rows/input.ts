import { AppError } from '../../core/error.ts';
import { decodeText } from '../../core/text/decode.ts';
import { formatSize } from '../../core/text/format.ts';
import { countLines } from '../../platform/files/chunks.ts';
import {
  brokenRow,
  ENCODING_HINT,
  type InputOptions,
  jsonRow,
  MAX_LINE_BYTES,
  type RawRow,
  type Row,
  textRow,
} from './row.ts';

/**
 * The rows of an input, read as the consumer asks for them; nothing is kept. Takes UTF-8, with or without a byte order
 * mark, and UTF-16 with one. Throws AppError `usage` only for an input that has no rows at all to offer: a CSV without a
 * header, or what is not text. What is wrong with one row is that row's `input`.
 */
export async function* readRows(chunks: AsyncIterable<Uint8Array>, options: InputOptions): AsyncGenerator<Row, void> {
  let hasMark = false;
  const bytes = toUtf8(chunks, options, () => {
    hasMark = true;
  });
  if (options.format === 'csv' || options.format === 'tsv') {
    const { readCsvRows } = await import('./csv.ts');
    yield* readCsvRows(refuseOtherEncoding(bytes, options.name), {
      ...options,
      onHeader: (header) => options.onHeader?.({ ...header, hasMark }),
    });
    return;
  }
  const toRow = options.format === 'lines' ? (raw: RawRow) => textRow(raw, raw.text) : jsonRow;
  const { maxLineBytes = MAX_LINE_BYTES } = options;
  let index = 0;
  let lineNumber = 0;
  for await (const lines of splitInputLines(bytes, maxLineBytes)) {
    for (const line of lines) {
      lineNumber += 1;
      const raw = { index, lineNumber };
      const text = typeof line === 'number' ? undefined : decodeLine(line);
      if (text?.trim() === '') continue;
      index += 1;
      if (text !== undefined) yield toRow({ ...raw, text });
      else yield typeof line === 'number' ? tooLongRow(raw, line, maxLineBytes) : notTextRow(raw, line);
    }
  }
}

export async function countInputRows(
  chunks: AsyncIterable<Uint8Array>,
  options: Pick<InputOptions, 'format' | 'name' | 'encoding'>,
): Promise<number> {
  const { format } = options;
  if (format !== 'csv' && format !== 'tsv') return countLines(chunks);
  return (await import('./csv.ts')).countCsvRows(toUtf8(chunks, options), format);
}

/** A table in another encoding would be half asked, half refused. One of which a few bytes are damaged is UTF-8. */
async function* refuseOtherEncoding(chunks: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Uint8Array, void> {
  let isChecked = false;
  for await (const chunk of chunks) {
    if (!isChecked && chunk.length > 0) {
      isChecked = true;
      const head = new TextDecoder().decode(chunk, { stream: true });
      const damaged = head.match(/\ufffd/g)?.length ?? 0;
      const whole = head.match(/[^\p{ASCII}\ufffd]/gu)?.length ?? 0;
      if (damaged > whole) throw new AppError('usage', `${name} is not UTF-8`, { hint: ENCODING_HINT });
    }
    yield chunk;
  }
}

function tooLongRow(raw: Omit<RawRow, 'text'>, bytes: number, limit: number): Row {
  return brokenRow(
    { ...raw, text: `${bytes} bytes` },
    `line ${raw.lineNumber} is ${formatSize(bytes)} long; at most ${formatSize(limit)} can be sent`,
    'Put large data into files, and name them in "files".',
  );
}

function notTextRow(raw: Omit<RawRow, 'text'>, line: Uint8Array): Row {
  const decoded = decodeText(line);
  const at = decoded.isText ? 0 : decoded.offset;
  return brokenRow(
    { ...raw, text: Buffer.from(line).toString('latin1') },
    `line ${raw.lineNumber} is not UTF-8 (at byte ${at})`,
    ENCODING_HINT,
  );
}

function decodeLine(line: Uint8Array): string | undefined {
  const buffer = Buffer.from(line.buffer, line.byteOffset, line.byteLength);
  const text = buffer.toString('utf8');
  // The replacement character is rare, so most lines need no second look.
  if (!text.includes('\ufffd')) return text;
  const decoded = decodeText(buffer);
  return decoded.isText || decoded.reason === 'nul' ? text : undefined;
}

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

/** Lines without their ends; of one that is too long, only its length. */
async function* splitInputLines(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<readonly (Uint8Array | number)[], void> {
  let rest: Uint8Array[] = [];
  let restBytes = 0;
  const take = (end: Uint8Array): Uint8Array | number => {
    const bytes = restBytes + end.length;
    const line = bytes > maxBytes ? bytes : rest.length === 0 ? end : Buffer.concat([...rest, end]);
    rest = [];
    restBytes = 0;
    if (typeof line === 'number') return line;
    return line.at(-1) === CARRIAGE_RETURN ? line.subarray(0, -1) : line;
  };
  for await (const chunk of chunks) {
    const lines: (Uint8Array | number)[] = [];
    let at = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, at)) {
      lines.push(take(chunk.subarray(at, end)));
      at = end + 1;
    }
    restBytes += chunk.length - at;
    if (restBytes > maxBytes) rest = [];
    else if (at < chunk.length) rest.push(chunk.subarray(at));
    if (lines.length > 0) yield lines;
  }
  if (restBytes > 0) yield [take(new Uint8Array(0))];
}

/** `onMark`: spreadsheets need a mark to know UTF-8, so what was in another encoding gets one, too. */
async function* toUtf8(
  chunks: AsyncIterable<Uint8Array>,
  { name, encoding: own = 'utf-8' }: Pick<InputOptions, 'name' | 'encoding'>,
  onMark = () => {},
): AsyncGenerator<Uint8Array, void> {
  let decoder = own === 'utf-8' ? undefined : openDecoder(own);
  let head = decoder === undefined ? new Uint8Array(0) : undefined;
  const decode = (bytes: Uint8Array, isLast: boolean): Uint8Array => {
    if (decoder === undefined) return bytes;
    try {
      return Buffer.from(decoder.decode(bytes, { stream: !isLast }));
    } catch (cause) {
      throw new AppError('usage', `${name} is not valid ${decoder.encoding.toUpperCase()}`, {
        cause,
        hint: 'Name another --encoding, or convert it to UTF-8 first: iconv',
      });
    }
  };
  if (decoder !== undefined) onMark();
  for await (const chunk of chunks) {
    if (head === undefined) {
      yield decode(chunk, false);
      continue;
    }
    head = Buffer.concat([head, chunk]);
    if (head.length < 4) continue;
    const { bytes, encoding } = removeByteOrderMark(head);
    if (bytes.length < head.length) onMark();
    if (encoding !== undefined) decoder = new TextDecoder(encoding, { fatal: true });
    head = undefined;
    yield decode(bytes, false);
  }
  if (head !== undefined && head.length > 0) yield removeByteOrderMark(head).bytes;
  const end = decode(new Uint8Array(0), true);
  if (end.length > 0) yield end;
}

/** Throws AppError `usage` for what this runtime does not know; the executable knows few. */
function openDecoder(encoding: string): TextDecoder {
  try {
    return new TextDecoder(encoding, { fatal: true });
  } catch (cause) {
    throw new AppError('usage', `--encoding: this gmn cannot read ${encoding}`, {
      cause,
      hint: `Convert the input first: iconv -f ${encoding} -t UTF-8`,
    });
  }
}

function removeByteOrderMark(head: Uint8Array): {
  readonly bytes: Uint8Array;
  readonly encoding?: 'utf-16le' | 'utf-16be';
} {
  if (head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf) return { bytes: head.subarray(3) };
  if (head[0] === 0xff && head[1] === 0xfe) return { bytes: head.subarray(2), encoding: 'utf-16le' };
  if (head[0] === 0xfe && head[1] === 0xff) return { bytes: head.subarray(2), encoding: 'utf-16be' };
  return { bytes: head };
}
