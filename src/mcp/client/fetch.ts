import { AppError } from '../../core/error.ts';
import { closeBody, type HttpRequest, type HttpResponse, type SendHttp } from '../../core/io.ts';
import { formatSize } from '../../core/text/format.ts';
import { MAX_SERVER_MESSAGE_BYTES } from './limits.ts';

export type Fetch = (input: string | URL, init?: RequestInit) => Promise<Response>;

const METHODS: readonly HttpRequest['method'][] = ['GET', 'POST', 'DELETE'];

/** A `fetch` for the SDK: follows no redirect, limits the size of a body, and tells `onBroken` why one broke off. */
export function createFetch(send: SendHttp, onBroken: (why: AppError) => void = () => {}): Fetch {
  return async (input, init) => {
    const signal = init?.signal ?? new AbortController().signal;
    const response = await send(toHttpRequest(input, init), signal);
    const { status, headers } = response;
    const body = hasBody(status) ? toStream(reportBreak(limitSize(response), onBroken)) : null;
    if (body === null) await closeBody(response.body);
    return new Response(body, {
      // A status above 599 is treated as a server error (https://www.rfc-editor.org/rfc/rfc9110#section-15).
      status: Math.min(status, 599),
      headers: Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    });
  };
}

function toHttpRequest(input: string | URL, init: RequestInit | undefined): HttpRequest {
  const method = METHODS.find((name) => name === (init?.method ?? 'GET').toUpperCase());
  if (method === undefined) throw new TypeError(`no ${init?.method} here`);
  const form = init?.body instanceof URLSearchParams;
  const headers = new Headers(init?.headers);
  if (form && !headers.has('content-type')) headers.set('content-type', 'application/x-www-form-urlencoded');
  const body = form || typeof init?.body === 'string' ? String(init.body) : undefined;
  return { method, url: new URL(input), headers: Object.fromEntries(headers), body };
}

function toStream(body: AsyncGenerator<Uint8Array, void>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await body.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: async () => void (await body.return()),
  });
}

async function* reportBreak(
  body: AsyncGenerator<Uint8Array, void>,
  onBroken: (why: AppError) => void,
): AsyncGenerator<Uint8Array, void> {
  try {
    yield* body;
  } catch (thrown) {
    if (thrown instanceof AppError) onBroken(thrown);
    throw thrown;
  }
}

function hasBody(status: number): boolean {
  return status !== 204 && status !== 205 && status !== 304;
}

/** An event stream may be endless, but a single event is limited. */
async function* limitSize({ headers, body }: HttpResponse): AsyncGenerator<Uint8Array, void> {
  const isStream = headers['content-type']?.toLowerCase().startsWith('text/event-stream') ?? false;
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    // Blank lines separate events. One split across two chunks is missed; then two events share one limit, no more.
    const end = isStream ? findBlankLine(chunk) : -1;
    if (end !== -1) size = chunk.length - end;
    if (size > MAX_SERVER_MESSAGE_BYTES) {
      throw new AppError(
        'mcp',
        `it sent more than ${formatSize(MAX_SERVER_MESSAGE_BYTES)} at once, more than gmn accepts`,
      );
    }
    yield chunk;
  }
}

function findBlankLine(chunk: Uint8Array): number {
  const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  return Math.max(text.lastIndexOf('\n\n'), text.lastIndexOf('\n\r\n'), text.lastIndexOf('\r\r'));
}
