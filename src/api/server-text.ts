import { redact } from '../core/text/secret-text.ts';

/** Control characters, line ends and the marks that turn the direction of text. */
const UNSAFE = /[\u0000-\u0020\u007f-\u00a0\u2028-\u202e\u2066-\u2069\ufeff]+/g;

/** Words from a server as one harmless line of at most `max` characters, without anything that looks like a credential. */
export function oneLine(text: string, max = 500): string {
  const line = redact(text.slice(0, 4 * max).replace(UNSAFE, ' '), '‹redacted›')
    .trim()
    .toWellFormed();
  if (line.length <= max) return line;
  return `${line.slice(0, max).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** The first `max` characters a reader of this HTML page would see; other text comes back as `oneLine` of it. */
export function visibleText(page: string, max = 200): string {
  let text = '';
  let at = 0;
  while (at < page.length && text.length < 4 * max) {
    const open = page.indexOf('<', at);
    text += `${page.slice(at, open === -1 ? page.length : Math.min(open, at + 4 * max))} `;
    if (open === -1) break;
    at = tagEnd(page, open);
  }
  return oneLine(text.replace(/\s+/g, ' '), max);
}

/** Where reading goes on after the tag at `open`; the insides of scripts and styles are not for readers. */
function tagEnd(page: string, open: number): number {
  const hidden = /^<(script|style|!--)/i.exec(page.slice(open, open + 8))?.[1]?.toLowerCase();
  const close = hidden === undefined ? '>' : hidden === '!--' ? '-->' : `</${hidden}>`;
  const end = page.indexOf(close, open);
  return end === -1 ? page.length : end + close.length;
}
