import { AppError } from '../core/error.ts';
import type { HttpResponse, SendHttp } from '../core/http.ts';
import { checked } from './web-page.ts';

const MAX_BYTES = 20_000_001;
const MAX_HOPS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/**
 * The bytes behind an https address, following up to five redirects that stay https; `send` judges every one of them. Not
 * more than a little over 20 MB are read. Throws AppError `api`.
 */
export async function fetchBytes(start: URL, send: SendHttp, signal: AbortSignal): Promise<Uint8Array> {
  let url = start;
  for (let hop = 0; hop <= MAX_HOPS; hop += 1) {
    if (checked(url).protocol !== 'https:') throw new AppError('api', `${url.host}: only https is fetched`);
    const response = await send({ method: 'GET', url, headers: { accept: 'image/*', 'user-agent': 'gmn' } }, signal);
    const target = response.headers.location;
    if (!REDIRECTS.has(response.status) || target === undefined) return bytesOf(url, response);
    await leave(response);
    if (!URL.canParse(target, url)) throw new AppError('api', `${url.host} redirects to what is no address`);
    url = new URL(target, url);
  }
  throw new AppError('api', `${start.host} redirects more than ${MAX_HOPS} times`);
}

async function bytesOf(url: URL, response: HttpResponse): Promise<Uint8Array> {
  if (response.status < 200 || response.status > 299) {
    await leave(response);
    throw new AppError('api', `${url.host} answered with status ${response.status}`);
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= MAX_BYTES) break;
  }
  return Buffer.concat(chunks, size);
}

/** Closes the connection. */
async function leave(response: HttpResponse): Promise<void> {
  await response.body[Symbol.asyncIterator]().return?.();
}
