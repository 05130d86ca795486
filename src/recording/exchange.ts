import { AppError } from '../core/error.ts';
import { isCount, isObject, isTooDeep, type JsonObject, type JsonValue, MAX_DEPTH, toTimestamp } from '../core/json.ts';
import { readLineBatches } from '../platform/files/lines.ts';
import { realPath } from '../platform/files/path.ts';
import { readError, readPathStatus } from '../platform/files/read.ts';

/** What a request is compared by. Exactly one of `body`, `text` and `media` holds its body; none if it is empty. */
export interface StoredRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: JsonValue;
  readonly text?: string;
  /** The SHA-256 of a body that is no text, or a long one. */
  readonly media?: string;
}

/** `ms` since the request. `data` is one event, or a whole JSON body; `cut` is the end of a connection that was lost. */
export type RecordedChunk = { readonly ms: number } & (
  | { readonly data: JsonValue }
  | { readonly text: string }
  | { readonly media: string }
  | { readonly cut: true }
);

export interface RecordedResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly chunks: readonly RecordedChunk[];
}

/** One line of a recording. Fields that are not known are kept. */
export interface Exchange {
  readonly v: 1;
  readonly id: number;
  /** When the request was sent. */
  readonly at: string;
  readonly request: StoredRequest & { readonly hash?: string };
  readonly response: RecordedResponse;
  readonly model?: string;
  /** Until the end of the response. */
  readonly ms: number;
}

export interface Recording {
  readonly name: string;
  /** In the order of the requests. */
  readonly exchanges: readonly Exchange[];
  readonly notices: readonly string[];
}

const MAX_BYTES = 256_000_000;

/** The only ones that are recorded, and replayed: others are about the connection, or about somebody. */
export const RESPONSE_HEADERS =
  /^(?:content-type|retry-after|x-gemini-service-tier|x-goog-upload-(?:url|status|size-received|chunk-granularity))$/;

export function pickHeaders(
  headers: Readonly<Record<string, string | undefined>>,
  allowed: RegExp,
): Readonly<Record<string, string>> {
  const entries = Object.entries(headers).flatMap(([name, value]): [string, string][] => {
    const key = name.toLowerCase();
    return value !== undefined && allowed.test(key) ? [[key, value]] : [];
  });
  return Object.fromEntries(entries);
}

/** Throws AppError `usage`, with the line. A last line that a crash cut off is skipped with a notice. */
export async function readRecording(path: string, name: string): Promise<Recording> {
  const status = readPathStatus(path);
  if (status === undefined) {
    throw new AppError('usage', `there is no file ${name}`, { hint: 'Record one: gmn demo serve --record <file>' });
  }
  if (status.kind !== 'file') throw new AppError('usage', `${name} is not a file`, { hint: HINT });
  if (status.bytes > MAX_BYTES) throw new AppError('usage', `${name} is larger than 256 MB`, { hint: 'Split it.' });
  const exchanges: Exchange[] = [];
  const notices: string[] = [];
  let number = 0;
  try {
    for await (const { lines, isTorn } of readLineBatches(realPath(path) ?? path, status.bytes)) {
      for (const line of lines) {
        number += 1;
        if (line.trim() === '') continue;
        if (isTorn && !isWholeLine(line))
          notices.push(`${name}:${number}: the last line is not complete, and is skipped`);
        else exchanges.push(parseExchange(number === 1 ? line.replace(/^\ufeff/, '') : line, `${name}:${number}`));
      }
    }
  } catch (thrown) {
    throw thrown instanceof AppError ? thrown : readError(thrown, name);
  }
  exchanges.sort((one, other) => Date.parse(one.at) - Date.parse(other.at) || one.id - other.id);
  return { name, exchanges, notices };
}

const HINT = 'A recording has one exchange a line, as gmn demo serve --record writes them (gmn help demo).';

function isWholeLine(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}

/** Throws AppError `usage`. */
function parseExchange(line: string, where: string): Exchange {
  const fail = (why: string): AppError => new AppError('usage', `${where}: ${why}`, { hint: HINT });
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw fail(`not JSON (${cause instanceof Error ? cause.message.slice(0, 100) : 'unreadable'})`);
  }
  if (!isObject(value)) throw fail('not an object');
  if (value.v !== 1) throw fail(value.v === undefined ? 'no exchange: "v" is missing' : '"v" is not 1');
  if (isTooDeep(value)) throw fail(`nested deeper than ${MAX_DEPTH} levels`);
  const { id, at, request, response, ms } = value;
  if (!isCount(id)) throw fail('"id" must be a number');
  if (toTimestamp(at) === undefined) throw fail('"at" must be a time');
  if (ms !== undefined && !isElapsed(ms)) throw fail('"ms" must be a number');
  if (!isObject(request) || typeof request.method !== 'string' || typeof request.path !== 'string') {
    throw fail('"request" must have a method and a path');
  }
  if (!isTexts(request.query) || !isTexts(request.headers)) throw fail('"query" and "headers" must be texts by name');
  if (!isObject(response)) throw fail('"response" must be an object');
  const { status, headers, chunks } = response;
  if (!isCount(status) || status < 200 || status > 599) throw fail('"status" must be that of a response');
  if (!isTexts(headers)) throw fail('"headers" must be texts by name');
  if (!Array.isArray(chunks) || !chunks.every(isChunk)) {
    throw fail('"chunks" must be a list of {"ms", and "data", "text", "media" or "cut"}');
  }
  return {
    ...(value as unknown as Exchange),
    ms: typeof ms === 'number' ? ms : 0,
    request: {
      ...(request as unknown as Exchange['request']),
      query: request.query ?? {},
      headers: request.headers ?? {},
    },
    response: { ...(response as unknown as RecordedResponse), headers: pickHeaders(headers ?? {}, RESPONSE_HEADERS) },
  };
}

function isElapsed(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

function isTexts(value: unknown): value is Readonly<Record<string, string>> | undefined {
  return value === undefined || (isObject(value) && Object.values(value).every((item) => typeof item === 'string'));
}

function isChunk(value: unknown): value is RecordedChunk {
  if (!isObject(value) || !isElapsed(value.ms)) return false;
  if (value.data !== undefined) return true;
  return typeof value.text === 'string' || typeof value.media === 'string' || value.cut === true;
}

/** `POST /v1beta/models/x:generateContent`, for people. */
export function formatTarget({ method, path }: Pick<StoredRequest, 'method' | 'path'>): string {
  return `${method} ${path}`;
}

/** What the whole request says, where it is an object: Code Assist wraps it. */
export function unwrapBody(body: JsonValue | undefined): JsonObject {
  if (!isObject(body)) return {};
  return (isObject(body.request) ? body.request : body) as JsonObject;
}
