import { AppError } from '../../core/error.ts';
import { isObject, type JsonValue, tryParseJson } from '../../core/json.ts';
import type { Usage } from '../../core/usage.ts';
import { errorFields } from '../../render/json-parts.ts';
import type { Row } from './row.ts';

export type RowResult = RowAnswer | AppError;

export interface RowAnswer {
  /** The text; with `--output-schema` there is `json` instead. */
  readonly response?: string;
  readonly json?: JsonValue;
  readonly model: string;
  readonly usage: Usage;
  /** In US dollars. Absent if the price is not known. */
  readonly cost?: number;
  /** Present unless it is STOP. */
  readonly finishReason?: string;
  /** The row with the same request whose answer this is, with `--dedupe`. */
  readonly sameAs?: string;
  /** From the first request to the last byte. */
  readonly ms: number;
  readonly attempts: number;
}

export interface FinishedRow extends Pick<Row, 'id' | 'index'> {
  readonly result: RowResult;
  /** `Row.line`, if it is known; goes to `<out>.failed.jsonl` if the row failed. */
  readonly line?: string;
}

export function isFailed(result: RowResult): result is AppError {
  return result instanceof AppError;
}

/** Without a newline. The first three fields are in this order, which `tryParseOutputLine` relies on. `input` is added if given. */
export function formatOutputLine({ id, index, result }: FinishedRow, input?: JsonValue): string {
  if (isFailed(result)) return JSON.stringify({ id, index, ok: false, error: errorFields(result), input });
  const { response, json, model, usage, cost, finishReason, sameAs, ms, attempts } = result;
  const text = json === undefined ? (response ?? '') : undefined;
  return JSON.stringify({
    id,
    index,
    ok: true,
    response: text,
    json,
    model,
    usage,
    cost,
    finishReason,
    sameAs,
    ms: Math.round(ms),
    attempts,
    input,
  });
}

interface OutputMark {
  readonly id: string;
  readonly ok: boolean;
}

const BEGINNING = /^\{"id":("(?:[^"\\]|\\.)*"),"index":\d+,"ok":(true|false)[,}]/;

/** Reads only the beginning of a line in gmn's own format, since lines may be long. Undefined if it is no output line. */
export function tryParseOutputLine(line: string): OutputMark | undefined {
  const [, quoted, ok] = BEGINNING.exec(line) ?? [];
  const id = quoted === undefined ? undefined : tryParseJson(quoted);
  if (typeof id === 'string') return { id, ok: ok === 'true' };
  const value = tryParseJson(line);
  if (!isObject(value) || typeof value.id !== 'string' || typeof value.ok !== 'boolean') return undefined;
  return { id: value.id, ok: value.ok };
}
