import { AppError } from '../core/error.ts';
import type { HttpResponse } from '../core/io.ts';
import { readSseEvents, type SseOptions } from './sse.ts';

const MAX_JSON_BYTES = 64 * 1024 * 1024;

/** The `data` of a server-sent event, or a value of a JSON document. */
export type Payload = string | { readonly value: unknown };

/** In batches as it arrives: events, or one JSON document whose list is split. Throws AppError `api`. */
export function readPayloads(response: HttpResponse, options: SseOptions): AsyncIterable<readonly Payload[]> {
  const { body, headers, setIdleTimeout } = response;
  const type = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const readEvents = (bytes: typeof body) => readSseEvents(bytes, { ...options, setIdleTimeout });
  return type === 'text/event-stream' || type === '' ? readEvents(body) : readOther(response, type, readEvents);
}

/** One, or those of a list. Parsed on demand, so that a batch is not in memory twice. Throws AppError `api`. */
export function parsePayload(payload: Payload): readonly unknown[] {
  const value = typeof payload === 'string' ? parseData(payload) : payload.value;
  return Array.isArray(value) ? value : [value];
}

/** Some servers leave out the blank line between events, so that the data of several arrive as the lines of one. */
function parseData(data: string): unknown {
  try {
    return parseJson(data);
  } catch (thrown) {
    const lines = data.split('\n').filter((line) => line !== '');
    if (lines.length < 2) throw thrown;
    return lines.map(parseJson);
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw invalidJsonError(cause);
  }
}

/** How a stream of events begins, and no JSON: gateways that rewrite an answer may call it JSON. */
const EVENTS = /^[deir:]/;

async function* readOther(
  response: HttpResponse,
  type: string,
  readEvents: (bytes: HttpResponse['body']) => AsyncIterable<readonly Payload[]>,
): AsyncGenerator<readonly Payload[], void> {
  if (type !== 'application/json') throw await contentTypeError(response, type);
  const rest = response.body[Symbol.asyncIterator]();
  for (let step = await rest.next(); !step.done; step = await rest.next()) {
    // Also without a byte order mark.
    const start = Buffer.from(step.value).toString('utf8').trim();
    if (start === '') continue;
    const bytes = joinBytes(step.value, rest);
    return yield* EVENTS.test(start) ? readEvents(bytes) : readDocument(bytes);
  }
}

async function* joinBytes(head: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  try {
    yield head;
    for (let step = await rest.next(); !step.done; step = await rest.next()) yield step.value;
  } finally {
    await rest.return?.();
  }
}

async function* readDocument(body: HttpResponse['body']): AsyncGenerator<readonly Payload[], void> {
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
  if (text.trim() !== '') yield [parseJson(text)].flat().map((value) => ({ value }));
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

async function contentTypeError(response: HttpResponse, type: string): Promise<AppError> {
  const { toOneLine, htmlToText } = await import('./google-error.ts');
  const detail = htmlToText(await readPrefix(response.body, 16 * 1024));
  return new AppError(
    'api',
    `unexpected content type ${toOneLine(type, 60)} from the server${detail && `: ${detail}`}`,
    {
      hint: 'A login page or a proxy may be in between; open a web page once, or check the base URL.',
      status: response.status,
    },
  );
}

function invalidJsonError(cause: unknown): AppError {
  // The cause's message quotes the response, so keep only its name.
  const kind = cause instanceof Error ? cause.name : undefined;
  return new AppError('api', 'the answer was cut short: malformed event from the server', {
    cause: kind,
    hint: 'Send the prompt again.',
    retry: {},
  });
}
