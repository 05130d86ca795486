import { AppError } from '../core/error.ts';
import type { JsonObject } from '../core/json.ts';
import { plural } from '../core/text/format.ts';
import { trimTrailing } from '../core/text/trim.ts';
import { READ_TOOL, UNTRUSTED } from '../core/tool.ts';
import { createDeadline } from '../platform/runtime/clock.ts';
import { defineTool, type ToolContext } from './define.ts';
import { checkUrl, fetchPage } from './web-page.ts';

interface WebFetchContext extends Pick<ToolContext, 'send' | 'storeUntrusted'> {
  /** Per page, including redirects. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 20_000;
const MAX_PAGES = 10;
/** For all pages of a call together. */
const MAX_TEXT_CHARS = 100_000;

export const webFetch = defineTool({
  name: 'web_fetch',
  classNames: ['WebFetchTool'],
  claudeNames: ['WebFetch'],
  set: 'all',
  about: 'reads up to ten public pages as text',
  description: `Fetches up to ${MAX_PAGES} public web pages as text.`,
  effect: 'network',
  input: {
    properties: {
      prompt: { type: 'string', description: 'A text with their full URLs, http or https.' },
      url: { type: 'string', description: 'One URL, instead of prompt.' },
    },
  },
  handle: ({ send, timeoutMs = TIMEOUT_MS, storeUntrusted }: WebFetchContext) => ({
    preview: async (input) => ({
      kind: 'text',
      text: parseUrls(input)
        .map(({ href }) => href)
        .join('\n'),
    }),
    findHosts: (input) => parseUrls(input).map(nameHost),
    async run(input, signal) {
      const urls = parseUrls(input);
      const share = Math.floor(MAX_TEXT_CHARS / urls.length);
      const limits = { send, timeoutMs, share, storeUntrusted };
      const pages = await Promise.all(urls.map((url) => fetchForModel(url, limits, signal)));
      signal.throwIfAborted();
      const failed = pages.filter((page) => page.error !== undefined).length;
      if (failed === pages.length) return { ok: false, response: { pages }, summary: String(pages[0]?.error) };
      const summary = `${plural(pages.length, 'page')}${failed === 0 ? '' : `, ${failed} failed`}`;
      return { ok: true, response: { pages, ...UNTRUSTED }, summary };
    },
  }),
});

/** Others can read along on plain http, so it is a place of its own. */
function nameHost({ host, port, protocol }: URL): string {
  return protocol === 'http:' && port === '' ? `${host}:80` : host;
}

interface FetchLimits extends Required<WebFetchContext> {
  readonly share: number;
}

async function fetchForModel(
  url: URL,
  { send, timeoutMs, share, storeUntrusted }: FetchLimits,
  signal: AbortSignal,
): Promise<JsonObject> {
  const deadline = createDeadline(signal, timeoutMs, () => new AppError('api', `${url.href} took too long`));
  try {
    const page = await fetchPage(url, send, deadline.signal);
    const text = page.text.slice(0, share).toWellFormed();
    const kept = text.length < page.text.length ? await storeUntrusted(page.text) : undefined;
    const isCut = page.isCut || text.length < page.text.length;
    return {
      url: page.url,
      content_type: page.contentType,
      title: page.title || undefined,
      text,
      note: isCut
        ? `The page is longer than what is shown here${kept === undefined ? '.' : `: ${READ_TOOL} ${kept}`}`
        : undefined,
    };
  } catch (thrown) {
    // One failing page must not hide the others; an abort is thrown once all have ended.
    return { url: url.href, error: AppError.from(thrown).message };
  } finally {
    deadline.clear();
  }
}

/** The URLs in a text, validated. Throws AppError `usage` if there is none, and `api` if one must not be fetched. */
function parseUrls({ prompt = '', url = '' }: { readonly prompt?: string; readonly url?: string }): readonly URL[] {
  const found = `${url} ${prompt}`.matchAll(/\bhttps?:\/\/[^\s<>"`{}|\\^「」『』【】（）、。，]+/gi);
  const texts = Array.from(found, ([text]) => trimTrailing(text, ".,;:!?'")).map(trimBracket);
  const urls = [...new Set(texts)].filter((text) => URL.canParse(text)).map((text) => checkUrl(new URL(text)));
  if (urls.length === 0) throw new AppError('usage', 'there is no URL', { hint: 'Name it in full: https://…' });
  if (urls.length > MAX_PAGES) {
    throw new AppError('usage', `there are ${urls.length} URLs`, { hint: `Fetch at most ${MAX_PAGES} at once.` });
  }
  return urls;
}

function trimBracket(text: string): string {
  return text.endsWith(')') && !text.includes('(') ? trimTrailing(text, ')') : text;
}
