import { toChunks } from '../../src/recording/chunks.ts';
import type { Exchange } from '../../src/recording/exchange.ts';
import { toStoredRequest } from '../../src/recording/stored-request.ts';
import type { Recording } from './recording.ts';

/** A line of `gmn --replay` of such a recording; what the format has no field for is kept beside the others. */
export async function toExchange(recording: Recording, number: number): Promise<Exchange> {
  const { id, source, method, url, request: sent, status, headers, body } = recording;
  const { pathname: path, searchParams: query } = new URL(`https://${url}`);
  const raw = { method: method.toUpperCase(), path, query, headers: {}, body: sent };
  const { request } = await toStoredRequest(raw, new Set());
  const isSse = /^text\/event-stream/.test(headers['content-type'] ?? '') || body.startsWith('data:');
  return {
    ...{ v: 1, id: number, at: '2026-01-01T00:00:00Z', ms: 0, request },
    response: {
      status,
      headers: isSse ? { ...headers, 'content-type': 'text/event-stream' } : headers,
      chunks: toChunks([{ ms: 0, bytes: Buffer.from(body) }], isSse, new Map()),
    },
    ...{ key: id, source, url },
  };
}

/** What `npm run test:recorded` judges of a line that `gmn demo serve --record` wrote; media stay where they are. */
export function toRecording(exchange: Exchange & Partial<Record<'key' | 'source' | 'url', string>>): Recording {
  const { id, key, source = 'recorded', url, request, response } = exchange;
  const { body = request.text, method, path, query } = request;
  const isVertex = path.includes('/publishers/');
  const host = `${isVertex ? 'aiplatform' : 'generativelanguage'}.googleapis.com`;
  const isSse = response.headers['content-type']?.startsWith('text/event-stream') ?? false;
  const pieces = response.chunks.map((chunk) => {
    if ('text' in chunk) return chunk.text;
    if (!('data' in chunk)) return '';
    return isSse ? `data: ${JSON.stringify(chunk.data)}\r\n\r\n` : JSON.stringify(chunk.data, undefined, 2);
  });
  return {
    id: key ?? String(id).padStart(4, '0'),
    source,
    method,
    url: url ?? `${host}${path}?${new URLSearchParams(query)}`,
    request: body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body),
    status: response.status,
    headers: response.headers,
    body: pieces.join(''),
  };
}
