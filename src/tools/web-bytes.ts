import { AppError } from '../core/error.ts';
import type { HttpResponse, SendHttp } from '../core/http.ts';
import { checked } from './web-page.ts';
import { followed, leave } from './web-redirects.ts';

const MAX_BYTES = 20_000_001;

/**
 * The bytes behind an https address, following up to five redirects that stay https; `send` judges every one of them. Not
 * more than a little over 20 MB are read. Throws AppError `api`.
 */
export async function fetchBytes(start: URL, send: SendHttp, signal: AbortSignal): Promise<Uint8Array> {
  const { url, response } = await followed(start, async (next) => {
    if (checked(next).protocol !== 'https:') throw new AppError('api', `${next.host}: only https is fetched`);
    return send({ method: 'GET', url: next, headers: { accept: 'image/*', 'user-agent': 'gmn' } }, signal);
  });
  return bytesOf(url, response);
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
