import { measureWidth, splitGraphemes } from '../core/text/width.ts';

/** What to write to the terminal for this text. */
export type WordWrap = (text: string) => string;

/**
 * Breaks text that streams to a terminal between words and between wide characters. A word is shown as it comes; one
 * that reaches the edge of the window moves to the next row. The text begins at the start of a row.
 */
export function createWordWrap(columns: () => number): WordWrap {
  let width = columns();
  let column = 0;
  let word = '';
  const addBlank = (blank: string): string => {
    word = '';
    if (blank === '\n') {
      column = 0;
      return blank;
    }
    // A blank at the edge is dropped; the next word breaks there.
    if (column + 1 > width) return '';
    column += 1;
    return ' ';
  };
  const addGrapheme = (grapheme: string): string => {
    if (/^\s/.test(grapheme)) return addBlank(grapheme);
    const own = measureWidth(grapheme);
    if (own > 1) word = '';
    const moved = word + grapheme;
    const start = column - measureWidth(word);
    if (own <= 1) word = moved;
    if (column + own <= width) {
      column += own;
      return grapheme;
    }
    if (start <= 0 && column > 0) {
      // The word is wider than the window: the terminal breaks it.
      column = own;
      word = '';
      return grapheme;
    }
    column = measureWidth(moved);
    return moved === grapheme ? `\n${grapheme}` : `\r\u001b[${start}C\u001b[K\n${moved}`;
  };
  return (text) => {
    if (columns() !== width) {
      // The terminal may have wrapped the row anew, so that the word is not found again.
      width = columns();
      column %= width;
      word = '';
    }
    return splitGraphemes(text).map(addGrapheme).join('');
  };
}
