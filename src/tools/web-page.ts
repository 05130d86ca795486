import { AppError } from '../core/error.ts';
import type { HttpResponse, SendHttp } from '../core/io.ts';
import { formatSize } from '../core/text/format.ts';
import { readableHtml } from './readable-html.ts';

/** A page as the model gets it. */
interface WebPage {
  /** Where it really came from. */
  readonly url: string;
  readonly contentType: string;
  readonly title: string;
  readonly text: string;
  /** Whether there was more of it than we read. */
  readonly isCut: boolean;
}

const MAX_BYTES = 2_000_000;
const TEXTUAL =
  /^(?:text\/.*|application\/(?:[\w.-]+\+)?(?:json|xml|yaml)|application\/(?:x-)?(?:javascript|ndjson|toml|sh))$/;

/** Nothing that tells one user from another. */
const HEADERS = {
  accept: 'text/html,application/xhtml+xml,application/json,text/*;q=0.9,*/*;q=0.1',
  'accept-encoding': 'gzip, deflate, br',
  'user-agent': 'Mozilla/5.0 (compatible; gmn)',
};

/**
 * Fetches a page that is text, following up to five redirects; `send` judges every one of them. At most 2 MB are read.
 * Throws AppError `api` for anything else that comes.
 */
export async function fetchPage(start: URL, send: SendHttp, signal: AbortSignal): Promise<WebPage> {
  const { url, response } = await followed(start, async (next) =>
    send({ method: 'GET', url: checked(next), headers: HEADERS }, signal),
  );
  return read(url, response);
}

/** Whether a URL may be asked for at all, before its address is known. Throws AppError `api`, else returns it. */
export function checked(url: URL): URL {
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw failure(`${url.protocol} is not fetched, only http and https`);
  if (url.username !== '' || url.password !== '')
    throw failure(`${url.host}: an address with a password in it is not fetched`);
  return url;
}

async function read(url: URL, response: HttpResponse): Promise<WebPage> {
  const contentType = response.headers['content-type'] ?? 'text/plain';
  const type = contentType.split(';')[0]?.trim().toLowerCase() ?? '';
  if (response.status < 200 || response.status > 299) {
    await leave(response);
    throw failure(`${url.href} answered with status ${response.status}`);
  }
  if (!TEXTUAL.test(type)) {
    await leave(response);
    const length = Number(response.headers['content-length']);
    throw failure(`${url.href} is no text but ${type}${length > 0 ? `, ${formatSize(length)}` : ''}`);
  }
  const { bytes, isCut } = await upTo(MAX_BYTES, response.body);
  const source = decode(bytes, contentType);
  const isHtml = type === 'text/html' || type === 'application/xhtml+xml';
  const { title, text } = isHtml ? readableHtml(source, url) : { title: '', text: source };
  return { url: url.href, contentType: type, title, text, isCut };
}

async function upTo(maxBytes: number, body: AsyncIterable<Uint8Array>): Promise<{ bytes: Uint8Array; isCut: boolean }> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > maxBytes) break;
  }
  return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), isCut: size > maxBytes };
}

/** By its byte order mark, else what the server says, else what the page says, else UTF-8. */
function decode(bytes: Uint8Array, contentType: string): string {
  const beginning = Buffer.from(bytes.subarray(0, 1024)).toString('latin1');
  const label =
    /charset\s*=\s*["']?([\w:.-]+)/i.exec(contentType)?.[1] ??
    /<meta[^>]{0,200}charset\s*=\s*["']?([\w:.-]+)/i.exec(beginning)?.[1];
  try {
    return new TextDecoder(byteOrder(bytes) ?? label ?? 'utf-8').decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

function byteOrder([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8';
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : undefined;
}

function failure(message: string): AppError {
  return new AppError('api', message);
}

const MAX_HOPS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** The first response that leads nowhere else, and where it came from; up to five redirects. Throws AppError `api`. */
async function followed(
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
async function leave(response: HttpResponse): Promise<void> {
  await response.body[Symbol.asyncIterator]().return?.();
}

const MAX_FETCHED_BYTES = 20_000_001;

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
    if (size >= MAX_FETCHED_BYTES) break;
  }
  return Buffer.concat(chunks, size);
}
