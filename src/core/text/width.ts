import stringWidth from 'string-width';

const ASCII = /^[\x20-\x7e]*$/;
/** Characters of which each is a grapheme, whatever stands beside it; most texts hold no other. */
const SIMPLE =
  /^[\x20-\x7e\xa1-\xac\xae-\u02ff\u0370-\u037f\u0384-\u0482\u048a-\u052f\u2010-\u2027\u2030-\u205e\u2500-\u257f\u3001-\u3029\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff60]*$/;
/** Those of them that take two columns. */
const WIDE = /[\u3001-\uff60]/g;

/** Terminal columns: two for a wide character, none for a combining one. */
export function measureWidth(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  for (const piece of pieces(text)) {
    width += SIMPLE.test(piece) ? piece.length + (piece.match(WIDE)?.length ?? 0) : stringWidth(piece);
  }
  return width;
}

export function splitGraphemes(text: string): readonly string[] {
  const found: string[] = [];
  for (const piece of pieces(text)) {
    if (SIMPLE.test(piece)) for (const char of piece) found.push(char);
    else for (const { segment } of segments.segment(piece)) found.push(segment);
  }
  return found;
}

const segments = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Segmenting a text takes the square of its length (Node 20): longer ones are segmented in pieces of this length. */
const PIECE_LENGTH = 512;
/** Longer than any character that a reader would count as one. */
const LONGEST_GRAPHEME = 64;

/** A text in pieces that end where a grapheme ends; one that has no end is cut. */
function* pieces(text: string): Generator<string> {
  let start = 0;
  while (text.length - start > PIECE_LENGTH) {
    const ahead = text.slice(start, start + PIECE_LENGTH + LONGEST_GRAPHEME);
    const length = segments.segment(ahead).containing(PIECE_LENGTH)?.index || PIECE_LENGTH;
    yield ahead.slice(0, length);
    start += length;
  }
  yield text.slice(start);
}

/** Where the continuation of a line without columns begins. */
const INDENT = 4;

/**
 * Breaks lines that are too wide between words; continued lines are indented to the column that was broken. A word that
 * is too wide by itself is left to the terminal.
 */
export function wrapText(text: string, columns: number): string {
  return text
    .split('\n')
    .map((line) => (measureWidth(line) <= columns ? line : wrapLine(line, columns)))
    .join('\n');
}

function wrapLine(line: string, columns: number): string {
  const indent = ' '.repeat(findColumnStart(line, columns));
  const rows: string[] = [];
  let row = '';
  // Blanks belong to the word behind them: at the beginning of a row they are dropped.
  for (const word of line.trimEnd().match(/^ *\S+|\s+\S+/g) ?? []) {
    if (row !== '' && row.trim() !== '' && measureWidth(row + word) > columns) {
      rows.push(row);
      row = indent + word.trimStart();
    } else row += word;
  }
  return [...rows, row].join('\n');
}

/** After the last gap of two or more blanks in the left half: there the widest column begins. */
function findColumnStart(line: string, columns: number): number {
  let indent: number | undefined;
  for (const { index, 0: gap } of line.matchAll(/\S {2,}(?=\S)|^ +(?=\S)/g)) {
    const start = measureWidth(line.slice(0, index + gap.length));
    if (start > columns / 2) break;
    indent = start;
  }
  return indent ?? INDENT;
}
