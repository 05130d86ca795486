import type { MarkedToken, Token, Tokens } from 'marked';
import { asMarkedTokens, decodeMarkdownEntities, toLinkTarget } from '../../render/markdown/inline.ts';
import { type BlockLexer, blockLexer, findFence } from '../../render/markdown/lexer.ts';
import { segmenter } from '../../render/markdown/segments.ts';
import { hasAllWords } from '../../render/markdown/table.ts';
import { codeBlockHtml, escapeAttribute, escapeHtml } from './text.ts';

/** Nothing is lost: what cannot be parsed as Markdown is shown as written. */
export function* markdownHtml(text: string): Generator<string, void> {
  const whole = renderBlocks(text, blockLexer());
  if (whole === undefined) yield* segmentsHtml(text);
  else yield whole;
}

/** In segments, so that the cost of a long text is linear and not quadratic. */
function* segmentsHtml(text: string): Generator<string, void> {
  const lexer = blockLexer();
  const segments = segmenter();
  let language = '';
  let code: string[] | undefined;
  for (const segment of [...segments.push(text), ...segments.end()]) {
    if (segment.type === 'code') {
      code?.push(segment.line);
      continue;
    }
    if (code !== undefined) yield* codeBlockHtml(code.join('\n'), language);
    code = undefined;
    if (segment.type === 'fence') {
      code = [];
      language = segment.language;
    } else if (segment.type === 'blocks') yield renderBlocks(segment.text, lexer) ?? plainTextHtml(segment.text);
  }
  if (code !== undefined) yield* codeBlockHtml(code.join('\n'), language);
}

function renderBlocks(text: string, lexer: BlockLexer): string | undefined {
  try {
    const tokens = lexer(text);
    return tokens === undefined ? undefined : blocksHtml(tokens);
  } catch {
    // Thousands of nested quotes overflow the stack, here or in the lexer.
    return undefined;
  }
}

function blocksHtml(tokens: readonly Token[]): string {
  return asMarkedTokens(tokens).map(blockHtml).join('');
}

function blockHtml(token: MarkedToken): string {
  switch (token.type) {
    case 'space':
    case 'checkbox':
      return '';
    case 'heading': {
      // The page uses h1 to h3 itself.
      const level = Math.min(6, token.depth + 3);
      return `<h${level}>${inlineHtml(token.tokens)}</h${level}>\n`;
    }
    case 'paragraph':
      return `<p>${inlineHtml(token.tokens)}</p>\n`;
    case 'text':
      return inlineHtml([token]);
    case 'list':
      return listHtml(token);
    case 'blockquote':
      return `<blockquote>${blocksHtml(token.tokens)}</blockquote>\n`;
    case 'code':
      return [...codeBlockHtml(token.text, findLanguage(token))].join('');
    case 'table':
      return hasAllWords(token) ? tableHtml(token) : plainTextHtml(token.raw);
    case 'hr':
      return '<hr>\n';
    default:
      return plainTextHtml(token.raw);
  }
}

function findLanguage({ raw, codeBlockStyle }: Tokens.Code): string {
  return codeBlockStyle === 'indented' ? '' : (findFence(raw.split('\n', 1)[0] ?? '')?.language ?? '');
}

function listHtml({ ordered, start, items }: Tokens.List): string {
  const first = ordered && typeof start === 'number' && start !== 1 ? ` start="${start}"` : '';
  const tag = ordered ? 'ol' : 'ul';
  return `<${tag}${first}>\n${items.map(itemHtml).join('')}</${tag}>\n`;
}

function itemHtml({ task, checked, tokens }: Tokens.ListItem): string {
  const box = task ? (checked ? '☑ ' : '☐ ') : '';
  return `<li${task ? ' class="task"' : ''}>${box}${blocksHtml(tokens)}</li>\n`;
}

function tableHtml({ header, rows, align }: Tokens.Table): string {
  const formatCell = (tag: 'th' | 'td', { tokens }: Tokens.TableCell, column: number): string =>
    `<${tag}${align[column] ? ` class="${align[column]}"` : ''}>${inlineHtml(tokens)}</${tag}>`;
  const formatRow = (tag: 'th' | 'td', cells: readonly Tokens.TableCell[]): string =>
    `<tr>${cells.map((each, column) => formatCell(tag, each, column)).join('')}</tr>\n`;
  const body = rows.map((cells) => formatRow('td', cells)).join('');
  return `<div class="wide" tabindex="0"><table>\n<thead>${formatRow('th', header)}</thead>\n<tbody>${body}</tbody></table></div>\n`;
}

function plainTextHtml(text: string): string {
  return `<p class="written">${escapeHtml(text.trimEnd())}</p>\n`;
}

const SCHEMES = /^(?:https?|mailto):/i;

function inlineHtml(tokens: readonly Token[]): string {
  return asMarkedTokens(tokens).map(tokenHtml).join('');
}

function tokenHtml(token: MarkedToken): string {
  switch (token.type) {
    case 'text':
      return token.tokens === undefined ? escapeHtml(decodeMarkdownEntities(token.raw)) : inlineHtml(token.tokens);
    case 'escape':
      return escapeHtml(token.text);
    case 'strong':
      return `<strong>${inlineHtml(token.tokens)}</strong>`;
    case 'em':
      return `<em>${inlineHtml(token.tokens)}</em>`;
    case 'del':
      // A single tilde means "about" far more often than deletion.
      return token.raw.startsWith('~~') ? `<del>${inlineHtml(token.tokens)}</del>` : `~${inlineHtml(token.tokens)}~`;
    case 'codespan':
      return `<code>${escapeHtml(token.text.replaceAll('\n', ' '))}</code>`;
    case 'br':
      return '<br>';
    case 'html':
      return /^<br\s*\/?>$/i.test(token.raw) ? '<br>' : escapeHtml(token.raw);
    case 'link':
      return linkHtml(token, inlineHtml(token.tokens));
    case 'image':
      return linkHtml(token, escapeHtml(decodeMarkdownEntities(token.text)));
    default:
      return escapeHtml(token.raw);
  }
}

/**
 * Shows the link's target beside it, so that its text cannot disguise where it leads. Loads nothing, not even images.
 */
function linkHtml({ href, title, text }: Tokens.Link | Tokens.Image, label: string): string {
  const address = decodeMarkdownEntities(href);
  const target = toLinkTarget(address, SCHEMES);
  const place = target === undefined ? address : findHost(target);
  const isOwnText = [address, address.replace(/^mailto:/i, ''), address.replace(/^http:\/\//i, '')].includes(text);
  const notes = [
    ...(isOwnText && target !== undefined ? [] : [place ?? address]),
    ...(title ? [decodeMarkdownEntities(title)] : []),
  ];
  const note = notes.length === 0 ? '' : ` <span class="place">(${escapeHtml(notes.join(', '))})</span>`;
  if (target === undefined || place === undefined) return label + note;
  return `<a href="${escapeAttribute(target)}" rel="noreferrer noopener nofollow">${label || escapeHtml(address)}</a>${note}`;
}

function findHost(target: string): string | undefined {
  if (!URL.canParse(target)) return undefined;
  const { protocol, host, pathname } = new URL(target);
  return protocol === 'mailto:' ? pathname : host;
}
