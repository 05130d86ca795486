import { basename } from 'node:path';
import { AppError } from '../../core/error.ts';
import { isObject, isTooDeep, type JsonObject } from '../../core/json.ts';
import { decodeText } from '../../core/text/decode.ts';
import { takeBefore } from '../../core/text/trim.ts';
import { readBytes } from '../../platform/files/read.ts';

export interface FrontMatter {
  readonly fields: JsonObject;
  readonly body: string;
}

const FENCED = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/;
/** Of the lines between the fences. Those of public skills have a few hundred. */
const MAX_LENGTH = 20_000;

const MAX_BYTES = 500_000;

/** What one look at folders may read of them: a repository can hold any number of skills and agents, and YAML takes its time. */
export class ReviewLimits {
  #bytes = 100_000_000;
  #frontMatter = 300_000;

  /** Of one more file. */
  get maxBytes(): number {
    return this.#bytes;
  }

  takeBytes(count: number): void {
    this.#bytes -= count;
  }

  /** Throws AppError `config`. */
  takeFrontMatter(length: number): void {
    this.#frontMatter -= length;
    if (this.#frontMatter < 0)
      throw new AppError('config', 'with those before it, there is too much between --- lines to review');
  }
}

/** A SKILL.md or the file of an agent. Throws AppError `usage`. */
export async function readConventionFile(file: string): Promise<Uint8Array> {
  return readBytes(file, { maxBytes: MAX_BYTES, tooLarge: largeFileError, links: 'never', name: basename(file) });
}

function largeFileError(): AppError {
  return new AppError('config', `it is larger than ${MAX_BYTES / 1000} KB`);
}

/** Throws AppError `config` with the reason if it is not text, too large, or has no front matter. */
export async function parseConventionFile(bytes: Uint8Array, limits?: ReviewLimits): Promise<FrontMatter> {
  if (bytes.length > MAX_BYTES) throw largeFileError();
  const decoded = decodeText(bytes);
  if (!decoded.isText) throw new AppError('config', 'it is not text');
  return parseFrontMatter(decoded.text, limits);
}

/** What stands between two lines of `---` at the beginning of a Markdown file. Throws AppError `config` with the reason if there is none. */
async function parseFrontMatter(text: string, limits?: ReviewLimits): Promise<FrontMatter> {
  const [head, lines = ''] = FENCED.exec(text.slice(0, MAX_LENGTH)) ?? [];
  if (head === undefined)
    throw new AppError('config', `it does not begin with a block of --- lines, of at most ${MAX_LENGTH} characters`);
  limits?.takeFrontMatter(lines.length);
  return { fields: await parseFields(lines), body: text.slice(head.length).trim() };
}

/** YAML; if it is none, each line again as `key: text`, since many descriptions have a colon that YAML would want quoted. */
async function parseFields(lines: string): Promise<JsonObject> {
  const { parse } = await import('yaml');
  // Aliases are refused: a short text could stand for one of any size.
  const read = (source: string): unknown => parse(source, { maxAliasCount: 0, schema: 'core', logLevel: 'error' });
  const value = tryParseYaml(read, lines);
  const fields = value instanceof Error ? tryParseYaml(read, quoteTexts(lines)) : value;
  if (!(fields instanceof Error) && isObject(fields) && !isTooDeep(fields)) return JSON.parse(JSON.stringify(fields));
  const why =
    value instanceof Error ? takeBefore(value.message, '\n').replace(/:$/, '') : 'it has no "key: value" lines';
  throw new AppError('config', `the block of --- lines is not valid: ${why}`);
}

function tryParseYaml(read: (source: string) => unknown, source: string): unknown {
  try {
    return read(source);
  } catch (thrown) {
    return thrown instanceof Error ? thrown : new Error(String(thrown));
  }
}

function quoteTexts(lines: string): string {
  return lines.replace(/^([\w-]+):[ \t]+([^\s"'[{|>&*!%@`#][^\r\n]*)$/gm, (_, key: string, text: string) => {
    return `${key}: ${JSON.stringify(text.trim())}`;
  });
}
