import type { MarkedToken, Token } from 'marked';
import { decodeEntities } from '../../render/markdown/entities.ts';
import { linkTarget } from '../../render/markdown/hyperlink.ts';
import { parseTokens } from '../../render/markdown/inline.ts';
import { attribute, escaped } from './text.ts';

const SCHEMES = /^(?:https?|mailto):/i;

/** The inline tokens of one block. HTML that was written in the Markdown is shown as it was written. */
export function inlineHtml(tokens: readonly Token[]): string {
  return parseTokens(tokens).map(tokenHtml).join('');
}

function tokenHtml(token: MarkedToken): string {
  switch (token.type) {
    case 'text':
      return token.tokens === undefined ? escaped(decodeEntities(token.raw)) : inlineHtml(token.tokens);
    case 'escape':
      return escaped(token.text);
    case 'strong':
      return `<strong>${inlineHtml(token.tokens)}</strong>`;
    case 'em':
      return `<em>${inlineHtml(token.tokens)}</em>`;
    case 'del':
      // One tilde means "about" far more often than it means deletion.
      return token.raw.startsWith('~~') ? `<del>${inlineHtml(token.tokens)}</del>` : `~${inlineHtml(token.tokens)}~`;
    case 'codespan':
      return `<code>${escaped(token.text.replaceAll('\n', ' '))}</code>`;
    case 'br':
      return '<br>';
    case 'html':
      return /^<br\s*\/?>$/i.test(token.raw) ? '<br>' : escaped(token.raw);
    case 'link':
      return linkHtml(token, inlineHtml(token.tokens), token.text);
    case 'image':
      return linkHtml(token, escaped(decodeEntities(token.text)), token.text);
    default:
      return escaped(token.raw);
  }
}

interface Link {
  readonly href: string;
  readonly title?: string | null | undefined;
}

/** Where a link leads is on the page too: it must not be able to say one place and mean another. Nothing is loaded. */
function linkHtml({ href, title }: Link, label: string, text: string): string {
  const address = decodeEntities(href);
  const target = linkTarget(address, SCHEMES);
  const place = target === undefined ? address : placeOf(target);
  const isItself = [address, address.replace(/^mailto:/i, ''), address.replace(/^http:\/\//i, '')].includes(text);
  const notes = [
    ...(isItself && target !== undefined ? [] : [place ?? address]),
    ...(title ? [decodeEntities(title)] : []),
  ];
  const note = notes.length === 0 ? '' : ` <span class="place">(${escaped(notes.join(', '))})</span>`;
  if (target === undefined || place === undefined) return label + note;
  return `<a href="${attribute(target)}" rel="noreferrer noopener nofollow">${label || escaped(address)}</a>${note}`;
}

/** The host as the browser will see it, or the mailbox; undefined if the address is none. */
function placeOf(target: string): string | undefined {
  if (!URL.canParse(target)) return undefined;
  const { protocol, host, pathname } = new URL(target);
  return protocol === 'mailto:' ? pathname : host;
}
