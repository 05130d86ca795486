import type { Content } from '../../core/content.ts';
import { AppError } from '../../core/error.ts';
import {
  filterObjects,
  isObject,
  isTooDeep,
  type JsonObject,
  type JsonValue,
  toNonEmptyString,
} from '../../core/json.ts';
import { sha256 } from '../../platform/runtime/native.ts';

export type InputFormat = 'jsonl' | 'csv' | 'tsv' | 'lines';

export interface InputOptions {
  readonly format: InputFormat;
  readonly name: string;
  /** Whether every row needs a prompt or files of its own, because there is neither a template nor `-p`. */
  readonly isPromptNeeded?: boolean;
  /** That of the bytes; absent: UTF-8, or UTF-16 with a byte order mark. */
  readonly encoding?: string | undefined;
  /** A longer line is a failed row: more could not be sent anyway. */
  readonly maxLineBytes?: number;
  /** Called before the first row of a CSV. */
  readonly onHeader?: (format: CsvFormat) => void;
}

export interface CsvFormat {
  readonly delimiter: (typeof DELIMITERS)[number];
  /** Whether it begins with a byte order mark. */
  readonly hasMark: boolean;
  readonly columns: readonly string[];
  /** Cells that a spreadsheet takes for a formula stay as they are. */
  readonly isRaw?: boolean;
}

/** How a column of a CSV may be named; a placeholder of this shape must be a column. */
export const COLUMN_NAME = /^[\p{L}_][^{}\p{Cc}]*$/u;

export const DELIMITERS = [',', ';', '\t'] as const;

/** Files that nobody expects rows of text in: neither what is read nor what is written here has such an ending. */
const OTHER_FORMAT =
  /\.(?:xls[xmb]?|ods|numbers|parquet|feather|arrow|avro|orc|sqlite3?|db|pdf|docx?|html?|xml|ya?ml)$/i;

/** Throws AppError `usage` for a file whose ending says that it is no rows of text. */
export function checkIsText(file: string, hint: string): void {
  const [ending] = OTHER_FORMAT.exec(file) ?? [];
  if (ending === undefined) return;
  throw new AppError('usage', `gmn batch reads and writes JSON lines, CSV and TSV, not ${ending}`, { hint });
}

export const ENCODING_HINT = 'Say what it is: --encoding windows-1252 (western Excel), or shift_jis (Japanese Excel)';

export const MAX_LINE_BYTES = 32_000_000;

/** Rows are data: nothing in them is run, expanded or trusted. */
export interface RowInput {
  readonly prompt?: string;
  /** A conversation as the API takes it, in place of `prompt`; the last one is the user's. */
  readonly contents?: readonly Content[];
  readonly system?: string;
  readonly files?: readonly string[];
  readonly model?: string;
  /** All fields but `prompt` and `contents`, as text: what placeholders are filled with. */
  readonly params: ReadonlyMap<string, string>;
}

export interface Row {
  /** From 0. Broken rows count, empty lines do not. */
  readonly index: number;
  /** Given by the row, else its line and a hash of it, so that a changed row is another row. */
  readonly id: string;
  readonly input: RowInput | AppError;
  /**
   * The row in input form, with its id, as one line for `<out>.failed.jsonl`: running that file asks for the same row. A
   * broken line is unchanged, a broken CSV record is the list of its fields. Undefined if the line is too long or not text,
   * or a CSV record has no end.
   */
  readonly line: string | undefined;
}

export type Rows = AsyncIterable<Row> | Iterable<Row>;

export interface RawRow {
  readonly index: number;
  /** From 1; for CSV and files, the number of the row. */
  readonly lineNumber: number;
  /** What the id is made from, if the row has none. */
  readonly text: string;
}

export function createRowId({ lineNumber, text }: Omit<RawRow, 'index'>): string {
  return `${lineNumber}-${sha256(text).slice(0, 12)}`;
}

/** Whether gmn has made the id, so that the row has none of its own. */
export function isRowId(id: unknown): boolean {
  return typeof id === 'string' && /^\d+-[\da-f]{12}$/.test(id);
}

export function brokenRow(raw: RawRow, message: string, hint: string, line?: string): Row {
  return { index: raw.index, id: createRowId(raw), input: new AppError('usage', message, { hint }), line };
}

const SHAPE_HINT =
  'A row is a text in quotes, or an object with "prompt" or "contents". For lines of plain text add --lines, for CSV --input-format csv.';

/** A row of JSON Lines. Never throws: what is wrong with it is its `input`. */
export function jsonRow(raw: RawRow): Row {
  let value: JsonValue;
  try {
    value = JSON.parse(raw.text);
  } catch (thrown) {
    // Without the part that quotes the line: it may be a credential.
    const [why = ''] = thrown instanceof Error ? thrown.message.split(/, (?:\.\.\.)?"/, 1) : [];
    return brokenRow(raw, `line ${raw.lineNumber} is not JSON: ${why}`, SHAPE_HINT, raw.text);
  }
  if (typeof value === 'string') return textRow(raw, value);
  if (isTooDeep(value)) return brokenRow(raw, `line ${raw.lineNumber} is nested too deeply`, SHAPE_HINT, raw.text);
  return isObject(value)
    ? fieldsRow(raw, value as JsonObject)
    : brokenRow(raw, `line ${raw.lineNumber} is neither a text nor an object`, SHAPE_HINT, raw.text);
}

export function textRow(raw: RawRow, prompt: string): Row {
  const id = createRowId(raw);
  return { index: raw.index, id, input: { prompt, params: new Map() }, line: JSON.stringify({ id, prompt }) };
}

/** Checks the types of the known fields. Whether there is anything to ask is decided later: a template may need no prompt. */
export function fieldsRow(raw: RawRow, fields: JsonObject): Row {
  const { id: given, prompt, contents, system, files, model } = fields;
  const fault = findFieldFault(fields);
  if (fault !== undefined) return brokenRow(raw, `line ${raw.lineNumber}: ${fault}`, SHAPE_HINT, raw.text);
  const id = given === undefined || given === null || given === '' ? createRowId(raw) : String(given);
  const input: RowInput = {
    prompt: typeof prompt === 'string' ? prompt : undefined,
    // Checked above as far as it is read; the API checks the rest.
    contents: Array.isArray(contents) ? (contents as unknown as readonly Content[]) : undefined,
    system: toNonEmptyString(system),
    files: Array.isArray(files) ? (files as readonly string[]) : undefined,
    model: toNonEmptyString(model),
    params: toParams(fields),
  };
  return { index: raw.index, id, input, line: JSON.stringify({ ...fields, id }) };
}

function findFieldFault(fields: JsonObject): string | undefined {
  const { id, prompt, contents, system, files, model } = fields;
  if (typeof id === 'object' && id !== null) return '"id" is neither a text nor a number';
  if (typeof id === 'string' && id.length > MAX_ID) return `"id" is longer than ${MAX_ID} characters`;
  for (const [name, value] of Object.entries({ prompt, system, model })) {
    if (value !== undefined && value !== null && typeof value !== 'string') return `"${name}" is not a text`;
  }
  if (prompt !== undefined && contents !== undefined) return 'it has "prompt" and "contents"; one of them is possible';
  if (contents !== undefined && !isContents(contents)) {
    return '"contents" is not a list of {"role":"user"|"model","parts":[…]} that ends with the user';
  }
  if (namesLocalFile(contents)) return '"contents" names a file of this machine; "files" can';
  if (files !== undefined && !(Array.isArray(files) && files.every((file) => typeof file === 'string'))) {
    return '"files" is not a list of paths';
  }
  return undefined;
}

/** Longer ones would make the output hard to use, and are more likely a mistake. */
const MAX_ID = 1000;

function isContents(value: JsonValue): boolean {
  if (!Array.isArray(value) || value.length === 0) return false;
  const isContent = (item: unknown): boolean =>
    isObject(item) &&
    (item.role === 'user' || item.role === 'model') &&
    Array.isArray(item.parts) &&
    item.parts.every(isPart);
  const last: unknown = value.at(-1);
  return value.every(isContent) && isObject(last) && last.role === 'user';
}

function isPart(part: unknown): boolean {
  return isObject(part) && (part.text === undefined || typeof part.text === 'string');
}

/** Only gmn itself may add `localFile`: the file it names would be read and sent, wherever it is. */
function namesLocalFile(contents: JsonValue | undefined): boolean {
  const parts = filterObjects(contents).flatMap((content) => filterObjects(content.parts));
  return parts.some((part) => Object.hasOwn(part, 'localFile'));
}

function toParams({ prompt: _, contents: __, ...fields }: JsonObject): ReadonlyMap<string, string> {
  const own = Object.entries(fields).filter(([name, value]) => name !== 'id' || !isRowId(value));
  return new Map(own.map(([name, value]) => [name, toFieldText(value)]));
}

function toFieldText(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
