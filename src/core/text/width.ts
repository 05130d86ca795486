import stringWidth from 'string-width';

const ASCII = /^[\x20-\x7e]*$/;
/** Characters that are always a grapheme of their own; most texts have no others. */
const SIMPLE =
  /^[\x20-\x7e\xa1-\xac\xae-\u02ff\u0370-\u037f\u0384-\u0482\u048a-\u052f\u2010-\u2027\u2030-\u205e\u2500-\u257f\u3001-\u3029\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff60]*$/;
const WIDE = /[\u3001-\uff60]/g;

/** Terminal columns: two for a wide character, none for a combining one. */
export function measureWidth(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  for (const piece of splitPieces(text)) {
    width += SIMPLE.test(piece) ? piece.length + (piece.match(WIDE)?.length ?? 0) : stringWidth(piece);
  }
  return width;
}

export function splitGraphemes(text: string): readonly string[] {
  const found: string[] = [];
  for (const piece of splitPieces(text)) {
    if (SIMPLE.test(piece)) for (const char of piece) found.push(char);
    else for (const { segment } of segments.segment(piece)) found.push(segment);
  }
  return found;
}

const segments = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Node 20 segments a text in quadratic time, so long texts are segmented in pieces of this length. */
const PIECE_LENGTH = 512;
/** Longer than any real grapheme. */
const LONGEST_GRAPHEME = 64;

/** Splits a text at grapheme boundaries; a grapheme longer than the limit is cut. */
function* splitPieces(text: string): Generator<string> {
  let start = 0;
  while (text.length - start > PIECE_LENGTH) {
    const ahead = text.slice(start, start + PIECE_LENGTH + LONGEST_GRAPHEME);
    const length = segments.segment(ahead).containing(PIECE_LENGTH)?.index || PIECE_LENGTH;
    yield ahead.slice(0, length);
    start += length;
  }
  yield text.slice(start);
}

const INDENT = 4;

/**
 * Wraps lines at words; continued lines are indented to the column they belong to. A single word that is too wide is
 * not broken.
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
  // Spaces belong to the word after them and are dropped at the start of a row.
  for (const word of line.trimEnd().match(/^ *\S+|\s+\S+/g) ?? []) {
    if (row !== '' && row.trim() !== '' && measureWidth(row + word) > columns) {
      rows.push(row);
      row = indent + word.trimStart();
    } else row += word;
  }
  return [...rows, row].join('\n');
}

function findColumnStart(line: string, columns: number): number {
  let indent: number | undefined;
  for (const { index, 0: gap } of line.matchAll(/\S {2,}(?=\S)|^ +(?=\S)/g)) {
    const start = measureWidth(line.slice(0, index + gap.length));
    if (start > columns / 2) break;
    indent = start;
  }
  return indent ?? INDENT;
}
