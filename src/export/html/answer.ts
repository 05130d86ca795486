import type { MarkedToken, Token, Tokens } from 'marked';
import { parseTokens } from '../../render/markdown/inline.ts';
import { type BlockLexer, blockLexer } from '../../render/markdown/lexer.ts';
import { fenceOf } from '../../render/markdown/line.ts';
import { segmenter } from '../../render/markdown/segments.ts';
import { isComplete } from '../../render/markdown/table.ts';
import { codeBlock } from './code.ts';
import { inlineHtml } from './inline.ts';
import { escaped } from './text.ts';

/** Markdown as HTML, piece by piece. No word of it is lost: what cannot be read as Markdown is shown as it was written. */
export function* markdownHtml(text: string): Generator<string, void> {
  const whole = blocksOf(text, blockLexer());
  if (whole === undefined) yield* segmentsHtml(text);
  else yield whole;
}

/** A long text is read in stretches, so that its cost grows with its length and not with the square of it. */
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
    if (code !== undefined) yield* codeBlock(code.join('\n'), language);
    code = undefined;
    if (segment.type === 'fence') {
      code = [];
      language = segment.language;
    } else if (segment.type === 'blocks') yield blocksOf(segment.text, lexer) ?? asWritten(segment.text);
  }
  if (code !== undefined) yield* codeBlock(code.join('\n'), language);
}

function blocksOf(text: string, lexer: BlockLexer): string | undefined {
  try {
    const tokens = lexer(text);
    return tokens === undefined ? undefined : blocksHtml(tokens);
  } catch {
    // Thousands of nested quotes exhaust the stack, here or in the lexer.
    return undefined;
  }
}

function blocksHtml(tokens: readonly Token[]): string {
  return parseTokens(tokens).map(blockHtml).join('');
}

function blockHtml(token: MarkedToken): string {
  switch (token.type) {
    case 'space':
    case 'checkbox':
      return '';
    case 'heading': {
      // The page's own headings stand above those of an answer.
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
      return [...codeBlock(token.text, languageOf(token))].join('');
    case 'table':
      return isComplete(token) ? tableHtml(token) : asWritten(token.raw);
    case 'hr':
      return '<hr>\n';
    default:
      return asWritten(token.raw);
  }
}

function languageOf({ raw, codeBlockStyle }: Tokens.Code): string {
  return codeBlockStyle === 'indented' ? '' : (fenceOf(raw.split('\n', 1)[0] ?? '')?.language ?? '');
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
  const cell = (tag: 'th' | 'td', { tokens }: Tokens.TableCell, column: number): string =>
    `<${tag}${align[column] ? ` class="${align[column]}"` : ''}>${inlineHtml(tokens)}</${tag}>`;
  const row = (tag: 'th' | 'td', cells: readonly Tokens.TableCell[]): string =>
    `<tr>${cells.map((each, column) => cell(tag, each, column)).join('')}</tr>\n`;
  const body = rows.map((cells) => row('td', cells)).join('');
  return `<div class="wide" tabindex="0"><table>\n<thead>${row('th', header)}</thead>\n<tbody>${body}</tbody></table></div>\n`;
}

function asWritten(text: string): string {
  return `<p class="written">${escaped(text.trimEnd())}</p>\n`;
}
