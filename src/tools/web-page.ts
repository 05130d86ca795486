import { AppError } from '../core/error.ts';
import { closeBody, type HttpResponse, type SendHttp } from '../core/io.ts';
import { formatSize } from '../core/text/format.ts';
import { readableHtml } from './readable-html.ts';

const MAX_BYTES = 2_000_000;
const TEXTUAL =
  /^(?:text\/.*|application\/(?:[\w.-]+\+)?(?:json|xml|yaml)|application\/(?:x-)?(?:javascript|ndjson|toml|sh))$/;

/** Nothing that identifies the user. */
const HEADERS = {
  accept: 'text/html,application/xhtml+xml,application/json,text/*;q=0.9,*/*;q=0.1',
  'accept-encoding': 'gzip, deflate, br',
  'user-agent': 'Mozilla/5.0 (compatible; gmn)',
};

/**
 * Fetches a text page, following up to five redirects of its host; `send` checks each address. Reads at most 2 MB. Throws
 * AppError `api` for any other response.
 */
export async function fetchPage(start: URL, send: SendHttp, signal: AbortSignal) {
  const { url, response } = await followRedirects(start, async (next) => {
    checkUrl(next);
    // The user allowed the host that they saw.
    const isOther = toSite(next) !== toSite(start);
    if (isOther || (start.protocol === 'https:' && next.protocol === 'http:')) {
      const where = isOther ? 'another host' : 'plain http';
      const target = next.href.slice(0, MAX_TARGET);
      throw new AppError('api', `${start.href} redirects to ${where}, which is a call of its own: ${target}`);
    }
    return send({ method: 'GET', url: next, headers: HEADERS }, signal);
  });
  return readPage(url, response);
}

const MAX_TARGET = 2000;

function toSite({ host }: URL): string {
  return host.replace(/^www\./, '');
}

/** Returns a URL that may be fetched, judged before DNS. Throws AppError `api` otherwise. */
export function checkUrl(url: URL): URL {
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new AppError('api', `${url.protocol} is not fetched, only http and https`);
  if (url.username !== '' || url.password !== '')
    throw new AppError('api', `${url.host}: an address with a password in it is not fetched`);
  return url;
}

async function readPage(url: URL, response: HttpResponse) {
  const contentType = response.headers['content-type'] ?? 'text/plain';
  const type = contentType.split(';')[0]?.trim().toLowerCase() ?? '';
  if (response.status < 200 || response.status > 299) {
    await closeBody(response.body);
    throw new AppError('api', `${url.href} answered with status ${response.status}`);
  }
  if (!TEXTUAL.test(type)) {
    await closeBody(response.body);
    const length = Number(response.headers['content-length']);
    throw new AppError('api', `${url.href} is not text but ${type}${length > 0 ? `, ${formatSize(length)}` : ''}`);
  }
  const { bytes, isCut } = await readUpTo(MAX_BYTES, response.body);
  const source = decodePage(bytes, contentType);
  const isHtml = type === 'text/html' || type === 'application/xhtml+xml';
  const { title, text } = isHtml ? readableHtml(source, url) : { title: '', text: source };
  return { url: url.href, contentType: type, title, text, isCut };
}

async function readUpTo(maxBytes: number, body: AsyncIterable<Uint8Array>) {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > maxBytes) break;
  }
  return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), isCut: size > maxBytes };
}

/** By the byte order mark, else the Content-Type header, else the page's own meta tag, else UTF-8. */
function decodePage(bytes: Uint8Array, contentType: string): string {
  const beginning = Buffer.from(bytes.subarray(0, 1024)).toString('latin1');
  const label =
    /charset\s*=\s*["']?([\w:.-]+)/i.exec(contentType)?.[1] ??
    /<meta[^>]{0,200}charset\s*=\s*["']?([\w:.-]+)/i.exec(beginning)?.[1];
  try {
    return new TextDecoder(detectByteOrder(bytes) ?? label ?? 'utf-8').decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

function detectByteOrder([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8';
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : undefined;
}

const MAX_HOPS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

async function followRedirects(start: URL, ask: (url: URL) => Promise<HttpResponse>) {
  let url = start;
  for (let hop = 0; hop <= MAX_HOPS; hop += 1) {
    const response = await ask(url);
    const target = response.headers.location;
    if (!REDIRECTS.has(response.status) || target === undefined) return { url, response };
    await closeBody(response.body);
    if (!URL.canParse(target, url)) throw new AppError('api', `${url.href} redirects to an invalid address`);
    url = new URL(target, url);
  }
  throw new AppError('api', `${start.href} redirects more than ${MAX_HOPS} times`);
}

/** One byte more than callers accept, so that they notice what is too large. */
const MAX_FETCHED_BYTES = 20_000_001;

/**
 * The bytes at an https address, at most 20 MB and one byte, following up to five redirects that stay https; `send`
 * checks each address. Throws AppError `api`.
 */
export async function fetchBytes(start: URL, send: SendHttp, signal: AbortSignal): Promise<Uint8Array> {
  const { url, response } = await followRedirects(start, async (next) => {
    if (checkUrl(next).protocol !== 'https:') throw new AppError('api', `${next.host}: only https is fetched`);
    return send({ method: 'GET', url: next, headers: { accept: 'image/*, */*;q=0.5', 'user-agent': 'gmn' } }, signal);
  });
  if (response.status < 200 || response.status > 299) {
    await closeBody(response.body);
    throw new AppError('api', `${url.host} answered with status ${response.status}`);
  }
  return (await readUpTo(MAX_FETCHED_BYTES, response.body)).bytes;
}
