import { extname } from 'node:path';
import { AppError } from '../../core/error.ts';
import { isCount, isObject, type JsonObject, type JsonValue, tryParseJson } from '../../core/json.ts';
import { plural } from '../../core/text/format.ts';
import { type LineReader, openLineReader } from '../../platform/files/lines.ts';
import { readPathStatus } from '../../platform/files/read.ts';
import { createExclusive, moveFile, removeFile } from '../../platform/files/write.ts';
import { errorReason } from '../../platform/runtime/system.ts';
import { type CsvFormat, isRowId } from '../rows/row.ts';
import { createIdTable, type IdTable } from './id-table.ts';
import type { RunPaths } from './run-file.ts';
import { readRunLines } from './run-lines.ts';

/** The output looks as the input does, which its owner's spreadsheet can read. */
export function toTableFormat(table: string, input: CsvFormat | undefined): CsvFormat {
  const { delimiter = ',', hasMark = false, columns = [] } = input ?? {};
  if (extname(table).toLowerCase() !== '.csv') return { delimiter: '\t', hasMark, columns };
  return { delimiter: delimiter === '\t' ? ',' : delimiter, hasMark, columns };
}

interface TableOptions {
  readonly format: CsvFormat;
  /** Cleared as soon as it is known where each row is: of a million, they are 13 MB. */
  readonly marks: IdTable;
  /** The flags of the rows that are in the table. */
  readonly kept: number;
  /** The flag of the rows that have several lines. */
  readonly repeated: number;
}

/**
 * Writes the output once more as a table: a record for each row, in the order of the input, its columns first, then those of the
 * answer. The old table is replaced in one step. Returns notices. Throws AppError `internal`; the output itself is complete then.
 */
export async function writeTable(
  { output, table = '', tablePart = '' }: RunPaths,
  options: TableOptions,
): Promise<readonly string[]> {
  const scan = await scanLines(output, options);
  options.marks.clear();
  const reader = openLineReader(output);
  const notices: string[] = [];
  try {
    await removeFile(tablePart);
    const mode = readPathStatus(table)?.mode || undefined;
    const pieces = formatCsv(scan, reader, options.format, notices);
    if ((await createExclusive(tablePart, pieces, { mode })) === 'exists')
      throw new Error(`${tablePart} is in the way`);
    await moveFile(tablePart, table);
    return notices;
  } catch (cause) {
    throw new AppError('internal', `cannot write ${table}: ${errorReason(cause)}`, {
      cause,
      hint: `The answers are in ${output}. Close the program that has ${table} open, then run the same command again.`,
    });
  } finally {
    reader.close();
  }
}

/** A spreadsheet takes no more than 16,384. */
const MAX_COLUMNS = 1000;

interface Scan {
  /** Where the last line of each row begins, in the order of the input. */
  readonly starts: Iterable<number>;
  readonly rowColumns: readonly string[];
  readonly answerColumns: readonly string[];
  readonly isCut: boolean;
}

async function scanLines(output: string, { format, marks, kept, repeated }: TableOptions): Promise<Scan> {
  const places = createPlaces(marks.size);
  /** One more than the place of each row that has several lines. */
  const known = createIdTable(Uint32Array);
  const findPlace = (id: string, index: number): number | undefined => {
    const mark = marks.get(id);
    if (mark === 0 || (mark & kept) !== kept) return undefined;
    if ((mark & repeated) === 0) return places.add(index);
    const place = known.get(id) - 1;
    if (place >= 0) return place;
    known.set(id, places.add(index) + 1);
    return known.get(id) - 1;
  };
  const rowColumns = createColumns(format.columns);
  const answerColumns = createColumns([]);
  const isWithId = format.columns.includes('id');
  let start = 0;
  for await (const { lines, end } of readRunLines(output)) {
    for (const text of lines) {
      const line = parseLine(text);
      const place = findPlace(line.id, line.index);
      if (place !== undefined) {
        places.set(place, start);
        const names = Object.keys(line.fields).filter((name) => name !== 'id' || isWithId || !isRowId(line.id));
        rowColumns.add(names, line.index);
        if (line.ok) answerColumns.add(Object.keys(line.answer), line.index);
      }
      start += Buffer.byteLength(text) + 1;
    }
    // A byte that is no text has another length when it is decoded.
    if (start !== end) {
      throw new AppError('usage', `${output} is not UTF-8: another program has changed it`, {
        hint: 'Correct it, then run the same command again; or use another --output-file.',
      });
    }
  }
  return {
    starts: places.list(),
    rowColumns: rowColumns.list(),
    answerColumns: answerColumns.list().length === 0 ? ['response'] : answerColumns.list(),
    isCut: rowColumns.isFull() || answerColumns.isFull(),
  };
}

/**
 * Where the last line of each row begins, in the order of the rows' first indexes: a row that is asked again from the file of
 * failed rows has another one. A million rows: five bytes each, and more only for one whose index is taken or too large.
 */
function createPlaces(rows: number) {
  const starts = createOffsets(rows);
  const others: { readonly index: number; start: number }[] = [];
  return {
    /** The place of a row that was not seen before. */
    add(index: number): number {
      if (index < rows && starts.get(index) === undefined) return index;
      return rows + others.push({ index, start: -1 }) - 1;
    },
    set(place: number, start: number): void {
      const other = others[place - rows];
      if (other === undefined) starts.set(place, start);
      else other.start = start;
    },
    *list(): Generator<number, void> {
      const rest = others.toSorted((left, right) => left.index - right.index);
      let next = 0;
      for (let index = 0; index < rows || next < rest.length; index += 1) {
        const start = starts.get(index);
        if (start !== undefined) yield start;
        for (; next < rest.length; next += 1) {
          const other = rest[next];
          if (other === undefined || (other.index > index && index < rows)) break;
          yield other.start;
        }
      }
    },
  };
}

/** Places in a file of up to a terabyte. */
function createOffsets(length: number) {
  const lows = new Uint32Array(length);
  const highs = new Uint8Array(length);
  return {
    get(at: number): number | undefined {
      // One more than the offset: 0 stands for none.
      const kept = (highs[at] ?? 0) * 2 ** 32 + (lows[at] ?? 0);
      return kept === 0 ? undefined : kept - 1;
    },
    set(at: number, offset: number): void {
      lows[at] = offset + 1;
      highs[at] = (offset + 1) / 2 ** 32;
    },
  };
}

/** Columns in the order of the input, whichever row was answered first. */
function createColumns(first: readonly string[]) {
  const ranks = new Map(first.map((name, at) => [name, at - first.length]));
  let isFull = false;
  return {
    add(names: readonly string[], index: number): void {
      names.forEach((name, at) => {
        const rank = index * MAX_COLUMNS + at;
        const known = ranks.get(name);
        if (known === undefined && ranks.size >= MAX_COLUMNS) isFull = true;
        else if (known === undefined || rank < known) ranks.set(name, rank);
      });
    },
    list: (): readonly string[] => [...ranks].sort(([, left], [, right]) => left - right).map(([name]) => name),
    isFull: (): boolean => isFull,
  };
}

const PIECE_CHARACTERS = 65_536;

async function* formatCsv(
  { starts, rowColumns, answerColumns, isCut }: Scan,
  reader: LineReader,
  { delimiter, hasMark, columns, isRaw }: CsvFormat,
  notices: string[],
): AsyncGenerator<string, void> {
  let formulas = 0;
  const formatRecord = (cells: readonly string[]): string => {
    const isFormula = cells.map((cell) => FORMULA.test(cell));
    if (isFormula.includes(true)) formulas += 1;
    const safe = isRaw ? cells : cells.map((cell, at) => (isFormula[at] ? `'${cell}` : cell));
    return formatCsvRecord(safe, delimiter);
  };
  const header = nameColumns(rowColumns, [...answerColumns, ...LINE_COLUMNS]);
  let piece = `${hasMark ? '\ufeff' : ''}${formatRecord(header)}`;
  for (const start of starts) {
    const line = parseLine(reader.readAt(start));
    const answer = answerColumns.map((name) => (line.ok ? toCsvCell(line.answer, name) : ''));
    // Only a CSV has records that do not fit its header.
    const list = columns.length > 0 ? line.list : undefined;
    const row = rowColumns.map((name, at) => toCsvCell(list ?? line.fields, list === undefined ? name : at));
    piece += formatRecord([...row, ...answer, ...LINE_COLUMNS.map((name) => toCsvCell(line.about, name))]);
    if (piece.length < PIECE_CHARACTERS) continue;
    yield piece;
    piece = '';
  }
  yield piece;
  if (isCut)
    notices.push(`the table has the first ${MAX_COLUMNS} columns; all fields are in the .jsonl file beside it`);
  if (formulas > 0) {
    const records = `${plural(formulas, 'record')} of the table ${formulas === 1 ? 'has' : 'have'} cells`;
    const outcome = isRaw ? 'import them as text' : "they got a ' before them (--csv-raw: without)";
    notices.push(`${records} that a spreadsheet takes for formulas, as they begin with =, +, - or @: ${outcome}`);
  }
}

/** The beginning of a formula, also in full width, or after blanks that programs drop; a negative number is none. */
const FORMULA = /^(?:[\t\r]|\s*(?:[=+@＝＋＠－]|-(?!(?:\d[\d.,]*|[.,]\d+)(?:e[+-]?\d+)?%?$)))/i;

const LINE_COLUMNS = ['ok', 'error', 'model', 'cost'] as const;

/** A column of the answer whose name is taken gets another one. */
function nameColumns(rowColumns: readonly string[], others: readonly string[]): readonly string[] {
  const names = new Set(rowColumns);
  for (let name of others) {
    while (names.has(name)) name = `answer_${name}`;
    names.add(name);
  }
  return [...names];
}

interface OutputLine {
  readonly id: string;
  readonly index: number;
  readonly ok: boolean;
  /** The columns of the row; empty if it could not be read. */
  readonly fields: JsonObject;
  /** The fields of a record that does not fit the header. */
  readonly list?: readonly JsonValue[];
  readonly answer: JsonObject;
  readonly about: { readonly [Name in (typeof LINE_COLUMNS)[number]]?: JsonValue };
}

/** Whoever made the folder may have written the line. Never throws. */
function parseLine(text: string): OutputLine {
  const value = tryParseJson(text);
  const { id, index, ok, input, response, json, error, model, cost } = (isObject(value) ? value : {}) as JsonObject;
  const answer = json === undefined ? { response: response ?? null } : isObject(json) ? json : { json };
  return {
    id: String(id),
    index: isCount(index) ? index : 0,
    ok: ok === true,
    fields: isObject(input) ? (input as JsonObject) : {},
    list: Array.isArray(input) ? (input as readonly JsonValue[]) : undefined,
    answer: answer as JsonObject,
    about: { ok, error: isObject(error) ? (error.message as JsonValue) : undefined, model, cost },
  };
}

function toCsvCell(fields: object, name: string | number): string {
  // A column may have the name of something that all objects have.
  const value: unknown = Object.hasOwn(fields, name) ? Reflect.get(fields, name) : undefined;
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** One record of a CSV, with its line break: what a CSV reader reads from it are the same texts. */
export function formatCsvRecord(cells: readonly string[], delimiter: string): string {
  const [first = ''] = cells;
  // A line without a character is none to many readers.
  if (cells.length === 1 && first === '') return '""\n';
  return `${cells.map((cell) => quoteCsvCell(cell, delimiter)).join(delimiter)}\n`;
}

function quoteCsvCell(cell: string, delimiter: string): string {
  return cell.includes(delimiter) || /["\r\n\ufeff]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
