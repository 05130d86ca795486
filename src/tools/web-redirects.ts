import { AppError } from '../core/error.ts';
import type { HttpResponse } from '../core/http.ts';

const MAX_HOPS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** The first response that leads nowhere else, and where it came from; up to five redirects. Throws AppError `api`. */
export async function followed(
  start: URL,
  ask: (url: URL) => Promise<HttpResponse>,
): Promise<{ readonly url: URL; readonly response: HttpResponse }> {
  let url = start;
  for (let hop = 0; hop <= MAX_HOPS; hop += 1) {
    const response = await ask(url);
    const target = response.headers.location;
    if (!REDIRECTS.has(response.status) || target === undefined) return { url, response };
    await leave(response);
    if (!URL.canParse(target, url)) throw new AppError('api', `${url.href} redirects to what is no address`);
    url = new URL(target, url);
  }
  throw new AppError('api', `${start.href} redirects more than ${MAX_HOPS} times`);
}

/** Closes the connection. */
export async function leave(response: HttpResponse): Promise<void> {
  await response.body[Symbol.asyncIterator]().return?.();
}
