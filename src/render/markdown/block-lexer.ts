import { Lexer, type TokensList } from 'marked';

/** Beyond this the lexer's time grows with the square of the text. */
const MAX_BLOCK_LENGTH = 16_384;
/** Tables are read cell by cell, so that more of them is affordable. */
const MAX_TABLE_LENGTH = 262_144;

/** Reads whole blocks; undefined if the text is too long, or came back incomplete. May exhaust the stack on deep nesting. */
export type BlockLexer = (text: string) => TokensList | undefined;

/** A lexer for one text, given in pieces: link definitions hold from where they stand. */
export function blockLexer(): BlockLexer {
  let links: TokensList['links'] = {};
  return (text) => {
    if (text.length > (isTable(text) ? MAX_TABLE_LENGTH : MAX_BLOCK_LENGTH)) return undefined;
    const lexer = new Lexer({ gfm: true });
    lexer.tokens.links = { ...links };
    const tokens = lexer.lex(text);
    if (squeezed(tokens.map((token) => token.raw).join('')) !== squeezed(text)) return undefined;
    links = tokens.links;
    return tokens;
  };
}

function isTable(text: string): boolean {
  return /^[^\n]*\|[^\n]*\n[ \t]*[|:-]/.test(text);
}

function squeezed(text: string): string {
  return text.replace(/\s+/g, '');
}
