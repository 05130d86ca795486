import { parse } from 'csv-parse';
import { AppError } from '../../core/error.ts';
import { plural } from '../../core/text/format.ts';
import { pipeChunks } from '../../platform/files/chunks.ts';
import {
  brokenRow,
  COLUMN_NAME,
  type CsvFormat,
  ENCODING_HINT,
  fieldsRow,
  type InputFormat,
  type InputOptions,
  MAX_LINE_BYTES,
  type RawRow,
  type Row,
} from './row.ts';

const QUOTE_HINT = 'Check its quotes: after one that is not closed, all that follows is part of the same row.';
const HEADER_HINT = 'The first line names the columns, for example: id,prompt';

interface CsvOptions extends Omit<InputOptions, 'onHeader'> {
  readonly onHeader?: (header: Omit<CsvFormat, 'hasMark'>) => void;
}

/** The first line names the columns. Paths in a column `files` are separated by `;`. Throws AppError `usage`. */
export async function* readCsvRows(
  chunks: AsyncIterable<Uint8Array>,
  { format, name, isPromptNeeded = false, maxLineBytes = MAX_LINE_BYTES, onHeader = () => {} }: CsvOptions,
): AsyncGenerator<Row, void> {
  const { delimiter, records } = await openRecords(chunks, format, maxLineBytes);
  try {
    yield* toRows(records, name, (columns) => {
      if (isPromptNeeded && !columns.includes('prompt') && !columns.includes('files'))
        throw noPromptColumnError(name, columns);
      onHeader({ delimiter, columns });
    });
  } catch (thrown) {
    if (thrown instanceof AppError || !(thrown instanceof Error)) throw thrown;
    throw new AppError('usage', `${name} cannot be read as ${format.toUpperCase()}: ${thrown.message}`, {
      cause: thrown,
      hint: HEADER_HINT,
    });
  }
}

/**
 * How many rows `readCsvRows` gives, for the progress line. By the line breaks outside of quotes: to parse a million rows
 * a second time takes as long as the first, and 15 MB.
 */
export async function countCsvRows(chunks: AsyncIterable<Uint8Array>, format: InputFormat): Promise<number> {
  const head = format === 'tsv' ? { delimiter: '\t' as const, chunks } : await findDelimiter(chunks);
  const counter = createRecordCounter(head.delimiter.charCodeAt(0));
  for await (const chunk of head.chunks) counter.add(chunk);
  return Math.max(0, counter.end() - 1);
}

const [LINE_FEED, CARRIAGE_RETURN, QUOTE] = [10, 13, 34];

/** Counts the records of a CSV in UTF-8 that are not empty. The first line break shows what ends them all, as the parser has it. */
function createRecordCounter(delimiter: number) {
  let records = 0;
  let isEmpty = true;
  let isFieldEmpty = true;
  let isQuoted = false;
  /** Whether the byte before this one was a quote that ended a text; with another one it is part of the text. */
  let isClosed = false;
  /** Whether the byte before this one was a carriage return outside of quotes. */
  let isReturned = false;
  let lineBreak: '\n' | '\r' | '\r\n' | undefined;
  const endRecord = (): void => {
    if (!isEmpty) records += 1;
    isEmpty = true;
    isFieldEmpty = true;
  };
  const addText = (byte: number): void => {
    isEmpty = false;
    isFieldEmpty = byte === delimiter;
  };
  const addByte = (byte: number): void => {
    const isPair = isReturned && byte === LINE_FEED;
    if (isReturned) {
      lineBreak ??= isPair ? '\r\n' : '\r';
      if (lineBreak === '\r') endRecord();
      else if (!isPair || lineBreak === '\n') addText(CARRIAGE_RETURN);
    }
    isReturned = false;
    if (byte === QUOTE && (isQuoted || isFieldEmpty || isClosed)) {
      isClosed = isQuoted;
      isQuoted = !isQuoted;
      isEmpty = false;
      return;
    }
    isClosed = false;
    if (isQuoted) isFieldEmpty = false;
    else if (byte === CARRIAGE_RETURN) isReturned = true;
    else if (byte !== LINE_FEED) addText(byte);
    else {
      lineBreak ??= '\n';
      if (lineBreak === '\n' || (lineBreak === '\r\n' && isPair)) endRecord();
      else addText(byte);
    }
  };
  return {
    add(chunk: Uint8Array): void {
      for (const byte of chunk) addByte(byte);
    },
    end(): number {
      if (isReturned && lineBreak !== '\r' && lineBreak !== undefined) addText(CARRIAGE_RETURN);
      endRecord();
      return records;
    },
  };
}

async function openRecords(chunks: AsyncIterable<Uint8Array>, format: InputFormat, maxBytes: number) {
  const head = format === 'tsv' ? { delimiter: '\t' as const, chunks } : await findDelimiter(chunks);
  const parser = parse({
    delimiter: head.delimiter,
    // Excel's TSV quotes as its CSV does. In a field that does not begin with one, a quote is text.
    relax_quotes: true,
    relax_column_count: true,
    skip_empty_lines: true,
    skip_records_with_error: true,
    max_record_size: maxBytes,
    on_skip: (error) => void parser.push({ fault: error?.message ?? 'it cannot be read' }),
  });
  return { delimiter: head.delimiter, records: pipeChunks<CsvRecord>(head.chunks, parser) };
}

const MAX_HEADER_BYTES = 65_536;

/** Excel separates by `;` in countries that write decimals with a comma. The header shows which one it is. */
async function findDelimiter(
  chunks: AsyncIterable<Uint8Array>,
): Promise<{ readonly delimiter: CsvFormat['delimiter']; readonly chunks: AsyncIterable<Uint8Array> }> {
  const iterator = chunks[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  while (!head.includes(LINE_FEED) && head.length < MAX_HEADER_BYTES) {
    const next = await iterator.next();
    if (next.done) break;
    head = Buffer.concat([head, next.value]);
  }
  const [line = ''] = head.toString('utf8').split('\n', 1);
  const delimiter = line.includes(';') && !line.includes(',') ? ';' : ',';
  return { delimiter, chunks: prependChunk(head, iterator) };
}

async function* prependChunk(head: Uint8Array, iterator: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  if (head.length > 0) yield head;
  yield* { [Symbol.asyncIterator]: () => iterator };
}

type CsvRecord = readonly string[] | { readonly fault: string };

async function* toRows(
  records: AsyncIterable<CsvRecord>,
  name: string,
  onHeader: (columns: readonly string[]) => void,
): AsyncGenerator<Row, void> {
  let columns: readonly string[] | undefined;
  let index = 0;
  for await (const record of records) {
    if (columns === undefined) {
      columns = parseHeader(record, name);
      onHeader(columns);
      continue;
    }
    yield toRow(record, columns, index);
    index += 1;
  }
}

function toRow(record: CsvRecord, columns: readonly string[], index: number): Row {
  const lineNumber = index + 1;
  if ('fault' in record) {
    const raw: RawRow = { index, lineNumber, text: record.fault };
    return brokenRow(raw, `row ${lineNumber}: ${record.fault.slice(0, 300)}`, QUOTE_HINT);
  }
  const text = JSON.stringify(record);
  const raw: RawRow = { index, lineNumber, text };
  if (record.length !== columns.length) {
    const message = `row ${lineNumber} has ${plural(record.length, 'field')}, the header has ${columns.length}`;
    return brokenRow(raw, message, 'Put fields with commas or line breaks in quotes.', text);
  }
  // The parser decodes bytes that are not UTF-8 to this character.
  if (text.includes('\ufffd')) {
    return brokenRow(raw, `row ${lineNumber} is not UTF-8`, ENCODING_HINT);
  }
  const fields = Object.fromEntries(columns.map((column, at) => [column, record[at] ?? '']));
  const { files, ...rest } = fields;
  return fieldsRow(raw, files ? { ...rest, files: splitPaths(files) } : rest);
}

function splitPaths(files: string): readonly string[] {
  return files
    .split(';')
    .map((path) => path.trim())
    .filter((path) => path !== '');
}

function parseHeader(record: CsvRecord, name: string): readonly string[] {
  if ('fault' in record) throw new AppError('usage', `${name}: the header cannot be read`, { hint: HEADER_HINT });
  const columns = record.map((column) => column.trim());
  if (!columns.every((column) => COLUMN_NAME.test(column))) {
    throw new AppError('usage', `${name} has no header: its first line does not name columns`, { hint: HEADER_HINT });
  }
  const twice = columns.find((column, at) => columns.indexOf(column) < at);
  if (twice === undefined) return columns;
  throw new AppError('usage', `${name} has two columns "${twice}"`, { hint: 'Give each column a name of its own.' });
}

function noPromptColumnError(name: string, columns: readonly string[]): AppError {
  return new AppError('usage', `${name} has no column "prompt"; its columns: ${columns.slice(0, 20).join(', ')}`, {
    hint: `Say what to ask with the columns in it: -p '… {{${columns.find((column) => column !== 'id') ?? 'id'}}}'. The first line must name the columns.`,
  });
}
