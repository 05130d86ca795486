import { Lexer, type TokensList } from 'marked';
import { countMatches } from '../../core/text/trim.ts';

export type Links = TokensList['links'];

/** In characters: longer blocks are shown as written. */
export const MAX_BLOCK_LENGTH = 65_536;
/** How many ASCII characters are laid out in the time of any other one. */
const WIDE = 8;
const MAX_LINES = 1000;
/** Every row of a table gets as many cells as its header, written or not. */
const MAX_CELLS = 10_000;
/** About 30 ms of lexing. */
const MAX_COST = 1_000_000;
/** The lexer looks at each link definition for each block. */
const MAX_LINKS = 200;

/** Marks that nest, or whose end the lexer searches for. */
const MARKS = /[*_~`[\]<>!\\&@]|[-+] |\d[.)] |:\/\/|www\./g;

/** The steps it takes to lex this text, at most, if it is one paragraph: the lexer looks at the rest of it for each mark. */
export function estimateCost(text: string): number {
  return text.length * (1 + countMatches(text, MARKS));
}

/** Whether splitting the text into blocks takes too long: a quote or an item is read again for everything around it. */
function isCostly(text: string): boolean {
  if (text.length > MAX_BLOCK_LENGTH) return true;
  const wide = text.length - text.replace(/[^\0-\x7f]+/g, '').length;
  if (text.length + (WIDE - 1) * wide > MAX_BLOCK_LENGTH) return true;
  const lines = text.split('\n');
  const deepest = lines.reduce((most, line) => Math.max(most, measureDepth(line)), 1);
  const cells = lines.reduce((most, line) => Math.max(most, countMatches(line, /\|/g)), 0);
  return lines.length > MAX_LINES || lines.length * cells > MAX_CELLS || text.length * deepest > MAX_COST;
}

function measureDepth(line: string): number {
  return /^(?:[ \t]|>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))*/.exec(line)?.[0].length ?? 0;
}

/**
 * Lexes whole blocks; undefined if that takes too long, or if text would be lost. May overflow the stack on deep nesting.
 */
export function lexBlocks(text: string, links: Links): TokensList | undefined {
  if (isCostly(text)) return undefined;
  const lexer = new Lexer({ gfm: true });
  lexer.tokens.links = { ...links };
  lexer.blockTokens(text.replace(/\r\n?/g, '\n'), lexer.tokens);
  // The paragraphs, items and cells that `lex` would read next.
  const cost = lexer.inlineQueue.reduce((sum, { src }) => sum + estimateCost(src), 0);
  if (cost > MAX_COST) return undefined;
  for (const { src, tokens } of lexer.inlineQueue) lexer.inlineTokens(src, tokens);
  const { tokens } = lexer;
  if (removeSpaces(tokens.map((token) => token.raw).join('')) !== removeSpaces(text)) return undefined;
  if (Object.keys(tokens.links).length > MAX_LINKS) tokens.links = links;
  return tokens;
}

export type BlockLexer = (text: string) => TokensList | undefined;

/** A lexer for a text in pieces: link definitions apply from where they stand. */
export function blockLexer(): BlockLexer {
  let links: Links = {};
  return (text) => {
    const tokens = lexBlocks(text, links);
    links = tokens?.links ?? links;
    return tokens;
  };
}

function removeSpaces(text: string): string {
  return text.replace(/\s+/g, '');
}

export interface Fence {
  readonly mark: string;
  readonly indent: number;
  /** The first word after the mark, in lower case; empty if there is none. */
  readonly language: string;
}

/** The width of the leading white space in columns; a tab reaches to the next multiple of four. */
export function measureIndent(line: string): number {
  return measureColumns(/^[ \t]*/.exec(line)?.[0] ?? '');
}

export function measureColumns(text: string): number {
  let columns = 0;
  for (const char of text) columns += char === '\t' ? 4 - (columns % 4) : 1;
  return columns;
}

export function findFence(line: string): Fence | undefined {
  const match = /^[ \t]*(?:(`{3,})([^`]*)|(~{3,})(.*))$/s.exec(line);
  if (match === null) return undefined;
  const info = (match[2] ?? match[4] ?? '').trim();
  return {
    mark: match[1] ?? match[3] ?? '',
    indent: measureIndent(line),
    language: /^[\w+#.-]+/.exec(info)?.[0].toLowerCase() ?? '',
  };
}

export function isFenceEnd(line: string, { mark }: Fence): boolean {
  const text = line.trim();
  return text.length >= mark.length && text === mark.charAt(0).repeat(text.length);
}

export function isHeading(line: string): boolean {
  return /^ {0,3}#{1,6}(?:[ \t]|$)/.test(line);
}

export function isRule(line: string): boolean {
  return /^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$/.test(line);
}

export function isUnderline(line: string): boolean {
  return /^ {0,3}(?:=+|-+)[ \t]*$/.test(line);
}

export function isDelimiterRow(line: string, header: string): boolean {
  // Trimmed first: two adjacent repetitions of blanks in the pattern would backtrack badly.
  return header.includes('|') && /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?$/.test(line.trimEnd());
}

/** `canInterrupt`: it starts a list even right after a line of prose. */
export function findListMarker(line: string) {
  const match = /^[ \t]*(?:[-*+]|(\d{1,9})[.)])(?:[ \t]+|$)/.exec(line);
  if (match === null) return undefined;
  const text = match[0];
  const startsLikeOne = match[1] === undefined || match[1] === '1';
  return { text, canInterrupt: startsLikeOne && text.length < line.length && measureIndent(line) < 4 };
}

/** Where the text of a list item begins, in columns. */
export interface ItemMargin {
  readonly written: number;
  /** The layout puts one blank after each mark, however many are written. */
  readonly shown: number;
}

const MAX_MARKERS = 10;

/** The list items that begin in this line: `1. - a` begins two. */
export function findItems(line: string) {
  const margins: ItemMargin[] = [];
  let markers = '';
  let shown = 0;
  while (margins.length < MAX_MARKERS) {
    const rest = line.slice(markers.length);
    const marker = findListMarker(rest)?.text;
    if (marker === undefined || (markers !== '' && isRule(rest))) break;
    const mark = marker.trim();
    const afterMark = measureColumns(markers + marker.trimEnd()) + 1;
    markers += marker;
    const text = line.slice(markers.length);
    const start = measureColumns(markers);
    // More than four blanks begin indented code.
    const isApart = text !== '' && start - afterMark < 4;
    shown += measureMarker(mark, text);
    margins.push({ written: isApart ? start : afterMark, shown });
  }
  return { markers, margins };
}

/** A box of a task stands in place of a bullet, and after a number. */
function measureMarker(mark: string, text: string): number {
  const isTask = /^\[[ xX]\][ \t]/.test(text);
  return (isTask && mark.length === 1 ? 0 : mark.length + 1) + (isTask ? '[ ] '.length : 0);
}
