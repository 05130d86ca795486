import type { MarkedToken, Token, Tokens } from 'marked';
import { stripControls } from '../../core/text/terminal.ts';
import { measureWidth } from '../../core/text/width.ts';
import { infoLines } from './fence.ts';
import type { OpenHighlighter } from './highlight.ts';
import { asMarkedTokens, toSpans } from './inline.ts';
import { findFence } from './lexer.ts';
import { continuedLines, type TableShape, tableLines } from './table.ts';
import { plainPaint, type Theme } from './theme.ts';
import { wrapCode, wrapSpans } from './wrap.ts';

interface Layout {
  readonly width: number;
  readonly theme: Theme;
  readonly openHighlighter: OpenHighlighter | undefined;
  readonly numbering: Numbering;
  readonly continued?: { readonly shape: TableShape };
}

export interface Numbering {
  written: number | undefined;
  shown: number;
}

export function createNumbering(): Numbering {
  return { written: undefined, shown: 0 };
}

const MIN_WIDTH = 10;

/** The lines of some blocks. Keeps the author's spacing, but at most one empty line in a row and none at either end. */
export function blockLines(tokens: readonly Token[], layout: Layout): string[] {
  const lines: string[] = [];
  let isSpaced = false;
  for (const token of asMarkedTokens(tokens)) {
    if (token.type !== 'space' && token.type !== 'checkbox') {
      const shown = tokenLines(token, layout);
      if ((isSpaced || token.type === 'code') && lines.length > 0 && shown.length > 0) lines.push('');
      for (const line of shown) lines.push(line);
      isSpaced = false;
    }
    isSpaced ||= token.type === 'code' || endsWithBlank(token.raw);
  }
  return lines;
}

function endsWithBlank(raw: string): boolean {
  return /\n[ \t]*\n/.test(raw.slice(raw.trimEnd().length));
}

function tokenLines(token: MarkedToken, layout: Layout): readonly string[] {
  const { theme, width } = layout;
  switch (token.type) {
    case 'heading': {
      const mark = { text: `${'#'.repeat(token.depth)} `, paint: theme.heading };
      return wrapSpans([mark, ...toSpans(token.tokens, theme, theme.heading)], width);
    }
    case 'paragraph':
      return wrapSpans(toSpans(token.tokens, theme), width);
    case 'text':
      return wrapSpans(toSpans([token], theme), width);
    case 'list':
      return listLines(token, layout);
    case 'blockquote': {
      const bar = theme.faint('│');
      return blockLines(token.tokens, narrowLayout(layout, 2)).map((line) => (line === '' ? bar : `${bar} ${line}`));
    }
    case 'code':
      return codeLines(token, layout);
    case 'table':
      if (layout.continued !== undefined) return continuedLines(token, layout.continued.shape, theme, width);
      return tableLines(token, theme, width);
    case 'hr':
      return [theme.faint('─'.repeat(Math.min(width, 60)))];
    default:
      return token.raw
        .trimEnd()
        .split('\n')
        .flatMap((line) => (measureWidth(line) <= width ? line : plainLines(line, width)));
  }
}

/** Items keep their written numbers; only a number that repeats the previous one is counted up. */
function listLines(list: Tokens.List, layout: Layout): readonly string[] {
  const lines: string[] = [];
  for (const item of list.items) {
    const marker = formatMarker(item, layout.numbering);
    const inner = blockLines(item.tokens, narrowLayout(layout, marker.length));
    const [first = '', ...rest] = inner;
    lines.push(
      `${marker}${first}`.trimEnd(),
      ...rest.map((line) => (line === '' ? '' : ' '.repeat(marker.length) + line)),
    );
    if (item !== list.items.at(-1) && endsWithBlank(item.raw)) lines.push('');
  }
  return lines;
}

function formatMarker({ raw, task, checked }: Tokens.ListItem, numbering: Numbering): string {
  const [, digits, delimiter = '.'] = /^\s*(\d+)([.)])/.exec(raw) ?? [];
  const number = digits === undefined ? undefined : Number(digits);
  numbering.shown = number !== undefined && number === numbering.written ? numbering.shown + 1 : (number ?? 0);
  numbering.written = number;
  const box = task ? (checked ? '[x] ' : '[ ] ') : '';
  return number === undefined ? box || '• ' : `${numbering.shown}${delimiter} ${box}`;
}

function codeLines(token: Tokens.Code, { theme, openHighlighter, width }: Layout): readonly string[] {
  const code = stripControls(token.text).trimEnd().split('\n');
  const raw = token.raw.trimEnd().split('\n');
  const fence = findFence(raw[0] ?? '');
  if (token.codeBlockStyle === 'indented' || fence === undefined) {
    return code.map((line) => (line === '' ? '' : `    ${line}`));
  }
  const painted = openHighlighter?.(fence.language, theme)(code) ?? code;
  const rows = token.text === '' ? [] : painted.flatMap((line) => wrapCode(line, width));
  return [...infoLines(raw[0] ?? '', theme), ...rows];
}

function narrowLayout(layout: Layout, columns: number): Layout {
  return { ...layout, numbering: createNumbering(), width: Math.max(MIN_WIDTH, layout.width - columns) };
}

export function plainLines(text: string, width: number): string[] {
  return text
    .trimEnd()
    .split('\n')
    .flatMap((line) => wrapSpans([{ text: line, paint: plainPaint, isCode: true }], width));
}
