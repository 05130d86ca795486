import type { Cell, Frame, Piece, Row } from '../../core/text/frame.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { measureWidth, splitGraphemes } from '../../core/text/width.ts';

export interface Layout {
  readonly rows: readonly Row[];
  readonly caret: Cell;
  /** The text offset whose cell is nearest to this one on the same row; undefined if the row has none. */
  offsetAt(cell: Cell): number | undefined;
}

interface LayoutInput {
  /** May contain styles (SGR), but no other control sequences. */
  readonly prompt: string;
  readonly text: string;
  readonly caret: number;
  readonly columns: number;
  readonly label?: (grapheme: string) => string | undefined;
}

const TAB = 4;

/** Breaks a text into terminal rows and finds the cell of the caret, which is always on the screen. */
export function layOut({ prompt, text, caret, columns, label }: LayoutInput): Layout {
  const page = createPage(Math.max(1, columns));
  for (const piece of splitStyles(prompt)) page.put(piece);
  // Later rows are indented to line up behind a short prompt.
  const indent = page.cell().row === 0 && page.cell().column * 3 <= columns ? page.cell().column : 0;
  page.indent(indent);
  const places: (Cell & { readonly offset: number })[] = [];
  let offset = 0;
  let caretCell = page.cell();
  const mark = (width: number): void => {
    const cell = page.cell(width);
    places.push({ ...cell, offset });
    if (offset === caret) caretCell = cell;
  };
  for (const grapheme of splitIntoGraphemes(text)) {
    const pieces = grapheme === '\n' ? [] : layOutGrapheme(grapheme, page.cell().column - indent, label);
    mark(grapheme === '\n' ? 0 : Math.min(pieces[0]?.width ?? 0, columns));
    if (grapheme === '\n') page.breakRow();
    for (const piece of pieces) page.put(piece);
    offset += grapheme.length;
  }
  mark(0);
  return { rows: page.rows, caret: caretCell, offsetAt: (cell) => findNearest(places, cell) };
}

const BOLD: Piece = { text: '\u001b[1m', width: 0 };
const PLAIN: Piece = { text: '\u001b[0m', width: 0 };

/** The line as it stays above its answer. Behind a prompt without styles it has none. */
export function standOut({ rows, caret }: Frame): Frame {
  if (!rows[0]?.some(({ width }) => width === 0)) return { rows, caret };
  const bold = rows.map((row) => {
    const start = row.findLastIndex(({ width }) => width === 0) + 1;
    const isBlank = row.slice(start).every(({ text }) => text === ' ');
    return isBlank ? row : [...row.slice(0, start), BOLD, ...row.slice(start), PLAIN];
  });
  return { rows: bold, caret };
}

export function clipRow(text: string, columns: number): Row {
  const row: Piece[] = [];
  let room = columns;
  for (const piece of splitStyles(text)) {
    room -= piece.width;
    if (room < 0 || piece.text === '\n') break;
    row.push(piece);
  }
  return room >= 0
    ? row
    : [
        ...row,
        ...splitStyles(text)
          .filter(({ width }) => width === 0)
          .slice(-1),
      ];
}

function findNearest(
  places: readonly (Cell & { readonly offset: number })[],
  { row, column }: Cell,
): number | undefined {
  const onRow = places.filter((place) => place.row === row);
  return (onRow.findLast((place) => place.column <= column) ?? onRow[0])?.offset;
}

interface Page {
  readonly rows: Piece[][];
  cell(width?: number): Cell;
  put(piece: Piece): void;
  breakRow(): void;
  indent(columns: number): void;
}

/** A full row is followed by a new one at once, so that the caret has a cell after it. */
function createPage(columns: number): Page {
  const rows: Piece[][] = [[]];
  let column = 0;
  let indent = 0;
  const breakRow = (): void => {
    rows.push(Array.from({ length: indent }, () => ({ text: ' ', width: 1 })));
    column = indent;
  };
  return {
    rows,
    cell: (width = 0) =>
      column + width > columns ? { row: rows.length, column: indent } : { row: rows.length - 1, column },
    put(piece) {
      // A character wider than the whole window cannot be shown.
      const fitting = piece.width > columns - indent ? { text: '?', width: 1 } : piece;
      if (column + fitting.width > columns) breakRow();
      rows.at(-1)?.push(fitting);
      column += fitting.width;
      if (column === columns) breakRow();
    },
    breakRow,
    indent(width) {
      indent = width;
    },
  };
}

function splitIntoGraphemes(text: string): readonly string[] {
  return text
    .split('\n')
    .flatMap((line, index) => (index === 0 ? splitGraphemes(line) : ['\n', ...splitGraphemes(line)]));
}

function layOutGrapheme(
  grapheme: string,
  column: number,
  label?: (grapheme: string) => string | undefined,
): readonly Piece[] {
  if (grapheme === '\t') return toSinglePieces(' '.repeat(TAB - (column % TAB)));
  const name = label?.(grapheme);
  if (name !== undefined) return toSinglePieces(name);
  const width = measureWidth(grapheme);
  if (width > 0 && isDrawable(grapheme)) return [{ text: grapheme, width }];
  // A mark without a letter stands on a dotted circle.
  if (/^(?!\p{Default_Ignorable_Code_Point})\p{Mn}{1,2}$/u.test(grapheme)) return [{ text: `◌${grapheme}`, width: 1 }];
  return toSinglePieces(sanitize(grapheme));
}

/**
 * Joiners, variation selectors, flag tags and the frame of a keycap are harmless inside a visible character: emoji and some scripts need them.
 * Everything else that is invisible is shown as its escape.
 */
function isDrawable(grapheme: string): boolean {
  const bare = grapheme
    .replace(/^([\d#*])\ufe0f?\u20e3$/, '$1')
    .replace(/(?!^)(?:\u200c|\u200d|\ufe0e|\ufe0f)/g, '')
    .replace(/^(\u{1f3f4})[\u{e0020}-\u{e007f}]{1,6}$/u, '$1');
  return sanitize(bare) === bare;
}

function toSinglePieces(text: string): readonly Piece[] {
  return splitGraphemes(text).map((grapheme) => {
    const width = measureWidth(grapheme);
    return { text: grapheme, width };
  });
}

function splitStyles(text: string): readonly Piece[] {
  return text.split(/(\u001b\[[\d;]*m)/).flatMap((part, index) => {
    return index % 2 === 1
      ? [{ text: part, width: 0 }]
      : splitGraphemes(part).flatMap((grapheme) => layOutGrapheme(grapheme, 0));
  });
}
