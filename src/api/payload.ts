import { AppError } from '../core/error.ts';
import type { HttpResponse } from '../core/io.ts';
import { readSseEvents, type SseOptions } from './sse.ts';

const MAX_JSON_BYTES = 64 * 1024 * 1024;

/**
 * The JSON values of a streamed response, in batches as they arrive: server-sent events, or one JSON document whose
 * list is split. Each value is parsed on demand, so that a batch is not in memory twice. Yields all values before an
 * error; then throws AppError `api` if the connection is cut, a value does not parse, or the content has another type.
 */
export function readPayloads(response: HttpResponse, options: SseOptions): AsyncIterable<Iterable<unknown>> {
  const type = response.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return type === 'text/event-stream' || type === '' ? readEvents(response.body, options) : readOther(response, type);
}

async function* readEvents(
  body: AsyncIterable<Uint8Array>,
  options: SseOptions,
): AsyncGenerator<Iterable<unknown>, void> {
  for await (const batch of readSseEvents(body, options)) yield parseValues(batch);
}

function* parseValues(batch: readonly string[]): Generator<unknown, void> {
  for (const data of batch) yield parseValue(data);
}

function parseValue(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch (cause) {
    throw malformedError(cause);
  }
}

async function* readOther(response: HttpResponse, type: string): AsyncGenerator<Iterable<unknown>, void> {
  if (type !== 'application/json') throw await contentTypeError(response, type);
  yield await readDocument(response.body);
}

async function readDocument(body: AsyncIterable<Uint8Array>): Promise<readonly unknown[]> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MAX_JSON_BYTES) throw new AppError('api', 'the server sent a JSON answer of more than 64 MB');
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks, size)
    .toString('utf8')
    .replace(/^\ufeff/, '');
  if (text.trim() === '') return [];
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [value];
  } catch (cause) {
    throw malformedError(cause);
  }
}

/** The first `maxBytes` of a body as text; of a broken body, what arrived. Closes the connection. */
export async function readPrefix(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= maxBytes) break;
    }
  } catch (thrown) {
    // The status matters more than a broken error body; any other error is passed on.
    if (!(thrown instanceof AppError) || thrown.fault !== 'api') throw thrown;
  }
  return Buffer.concat(chunks, size).subarray(0, maxBytes).toString('utf8');
}

/** Closes the connection of an unwanted body, whether reading has begun or not. */
export async function closeBody(body: AsyncIterable<Uint8Array>): Promise<void> {
  await body[Symbol.asyncIterator]().return?.();
}

async function contentTypeError(response: HttpResponse, type: string): Promise<AppError> {
  const { toOneLine, htmlToText } = await import('./google-error.ts');
  const words = htmlToText(await readPrefix(response.body, 16 * 1024));
  return new AppError('api', `unexpected content type ${toOneLine(type, 60)} from the server${words && `: ${words}`}`, {
    hint: 'A login page or a proxy may be in between; open a web page once, or check the base URL.',
    status: response.status,
  });
}

function malformedError(cause: unknown): AppError {
  // The cause's message quotes the response, so keep only its name.
  const kind = cause instanceof Error ? cause.name : undefined;
  return new AppError('api', 'the answer was cut short: malformed event from the server', {
    cause: kind,
    hint: 'Send the prompt again.',
    retry: {},
  });
}
