import { widthOf } from './width.ts';

/** Where the continuation of a line without columns begins. */
const INDENT = 4;

/**
 * The lines of a text, those that are too wide broken between words; what follows stands below the column they were broken in. A
 * word that is too wide by itself is left to the terminal.
 */
export function folded(text: string, columns: number): string {
  return text
    .split('\n')
    .map((line) => (widthOf(line) <= columns ? line : foldedLine(line, columns)))
    .join('\n');
}

function foldedLine(line: string, columns: number): string {
  const indent = ' '.repeat(hangingIndent(line, columns));
  const rows: string[] = [];
  let row = '';
  // Blanks belong to the word behind them: at the beginning of a row they are dropped.
  for (const word of line.trimEnd().match(/^ *\S+|\s+\S+/g) ?? []) {
    if (row !== '' && row.trim() !== '' && widthOf(row + word) > columns) {
      rows.push(row);
      row = indent + word.trimStart();
    } else row += word;
  }
  return [...rows, row].join('\n');
}

/** Behind the last gap of two blanks or more in the left half: there the widest column begins. */
function hangingIndent(line: string, columns: number): number {
  let indent: number | undefined;
  for (const { index, 0: gap } of line.matchAll(/\S {2,}(?=\S)|^ +(?=\S)/g)) {
    const start = widthOf(line.slice(0, index + gap.length));
    if (start > columns / 2) break;
    indent = start;
  }
  return indent ?? INDENT;
}
