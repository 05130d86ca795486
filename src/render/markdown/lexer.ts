import { Lexer, type TokensList } from 'marked';

/** The link definitions of a text, by their labels. */
export type Links = TokensList['links'];

/** Longer blocks are not prose. */
const MAX_LENGTH = 8192;
/** What the lexer takes about 30 ms for. Its time grows with the length of a block times the marks in it. */
const MAX_COST = 1_000_000;
/** Every row of a table has as many cells as its head, written or not. */
const MAX_CELLS = 10_000;
/** Each link definition is looked at for each block. */
const MAX_LINKS = 200;

/** What begins something that the lexer looks for the end of, or nests. */
const MARKS = /[*_~`[\]<>!\\&@]|[-+] |\d[.)] /g;

/** What reading a block costs, as far as can be told without reading it. */
export function costOf(text: string): number {
  return text.length * (1 + countOf(text, MARKS));
}

/** Whether reading this block may take longer than anybody should wait for it without being heard. */
export function isCostly(text: string): boolean {
  return text.length > MAX_LENGTH || costOf(text) > MAX_COST || mostCells(text) > MAX_CELLS;
}

/** So many cells a table has that is made of this text. */
function mostCells(text: string): number {
  if (!text.includes('|')) return 0;
  const lines = text.split('\n');
  return lines.length * lines.reduce((most, line) => Math.max(most, countOf(line, /\|/g)), 0);
}

function countOf(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}

/** The tokens of whole blocks; undefined if they came back incomplete. May exhaust the stack on deep nesting. */
export function lexBlocks(text: string, links: Links): TokensList | undefined {
  const lexer = new Lexer({ gfm: true });
  lexer.tokens.links = { ...links };
  const tokens = lexer.lex(text);
  if (squeezed(tokens.map((token) => token.raw).join('')) !== squeezed(text)) return undefined;
  if (Object.keys(tokens.links).length > MAX_LINKS) tokens.links = links;
  return tokens;
}

/** Reads whole blocks; undefined if that is costly, or they came back incomplete. May exhaust the stack on deep nesting. */
export type BlockLexer = (text: string) => TokensList | undefined;

/** A lexer for one text, given in pieces: link definitions hold from where they stand. */
export function blockLexer(): BlockLexer {
  let links: Links = {};
  return (text) => {
    const tokens = isCostly(text) ? undefined : lexBlocks(text, links);
    links = tokens?.links ?? links;
    return tokens;
  };
}

function squeezed(text: string): string {
  return text.replace(/\s+/g, '');
}
