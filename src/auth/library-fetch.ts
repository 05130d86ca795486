import type { HttpRequest, SendHttp } from '../core/io.ts';

const MAX_BYTES = 1_000_000;
const LIBRARY_HEADERS: readonly string[] = ['user-agent', 'x-goog-api-client'];

/** A response, kept apart from the library's errors, which may contain the request and its secrets. */
export interface SeenResponse {
  readonly status: number;
  readonly text: string;
}

interface LibraryFetchOptions {
  readonly send: SendHttp;
  /** Called for each request, since a client of the library outlives the call it was made for. */
  readonly signal: () => AbortSignal;
  readonly onAnswer?: (answer: SeenResponse) => void;
  readonly onFailure?: (thrown: unknown) => void;
}

/** Makes Google's library send through gmn, and ignore the proxy variables itself. */
export function libraryTransport(options: LibraryFetchOptions) {
  return { fetchImplementation: libraryFetch(options), noProxy: [/^/] };
}

export function withUserAgent(send: SendHttp, userAgent: string): SendHttp {
  return (request, signal) => send({ ...request, headers: { 'user-agent': userAgent, ...request.headers } }, signal);
}

/** No redirect is followed; proxies and timeouts as everywhere. Why: docs/dev/decisions/0004-token-refresh.md */
function libraryFetch({ send, signal, onAnswer, onFailure }: LibraryFetchOptions): typeof fetch {
  const exchange = async (request: HttpRequest): Promise<SeenResponse & { readonly type: string }> => {
    const response = await send(request, signal());
    const type = response.headers['content-type'] ?? 'text/plain';
    return { status: response.status, text: await readBodyText(response.body), type };
  };
  return async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const headers: Record<string, string> = {};
    for (const [name, value] of new Headers(init?.headers)) if (!LIBRARY_HEADERS.includes(name)) headers[name] = value;
    const form = init?.body instanceof URLSearchParams;
    if (form) headers['content-type'] ??= 'application/x-www-form-urlencoded';
    const method = init?.method === 'POST' ? 'POST' : 'GET';
    const body = form || typeof init?.body === 'string' ? String(init.body) : undefined;
    const { status, text, type } = await exchange({ method, url, headers, body }).catch((thrown: unknown) => {
      onFailure?.(thrown);
      throw thrown;
    });
    onAnswer?.({ status, text });
    const hasBody = ![204, 205, 304].includes(status);
    return new Response(hasBody ? text : null, { status, headers: { 'content-type': type } });
  };
}

export async function readBodyText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MAX_BYTES) break;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
