import { Lexer } from 'marked';
import { fenceOf } from '../render/markdown/line.ts';

/** What ends a block of HTML that goes on over blank lines. https://spec.commonmark.org/0.31.2/#html-blocks */
const HTML_ENDS = ['-->', '?>', ']]>', '>', '</pre>', '</script>', '</style>', '</textarea>'];

/**
 * Markdown as it was written, ending in a newline, and after that the end of what it left open, so that what follows is
 * not taken for a part of it. Undefined if no such end is found, or the text is too long to tell.
 */
export function closed(text: string): string | undefined {
  if (isLong(text)) return undefined;
  const body = text.endsWith('\n') ? text : `${text}\n`;
  if (isClosed(body)) return body;
  const marks = body.split('\n').flatMap((line) => fenceOf(line)?.mark ?? []);
  const ends = [...new Set(marks)].slice(-4).concat(HTML_ENDS);
  return ends.map((end) => `${body}${end}\n`).find(isClosed);
}

/** Beyond this it is data rather than prose. */
const MAX_LENGTH = 262_144;
/** Blocks in blocks, a hundred deep on one line: reading them takes the square of the line. */
const DEEP = /^(?:[ \t]*(?:[>*+-]|\d{1,9}[.)])){100}/m;

function isLong(text: string): boolean {
  return text.length > MAX_LENGTH || DEEP.test(text);
}

/** Whether a heading right after it is a heading. */
function isClosed(text: string): boolean {
  try {
    const last = new Lexer().blockTokens(`${text}\n## end\n`).at(-1);
    return last?.type === 'heading' && last.raw === '## end\n';
  } catch {
    // Thousands of nested quotes exhaust the stack.
    return false;
  }
}
