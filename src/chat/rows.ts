import { measureWidth } from '../core/text/width.ts';

export type ListRow = readonly [name: string, text: string];

const INDENT = '  ';
/** With fewer columns than this left for the text, it goes below its name. */
const MIN_TEXT = 24;

/** Rows as two columns, wrapped at words. A line is wider than `columns` only if a single word is. */
export function formatListRows(rows: readonly ListRow[], columns: number): readonly string[] {
  const nameWidth = Math.max(...rows.map(([name]) => measureWidth(name)));
  const beside = INDENT.length + nameWidth + INDENT.length;
  const isBelow = columns - beside < MIN_TEXT;
  const margin = isBelow ? INDENT.repeat(3) : ' '.repeat(beside);
  return rows.flatMap(([name, text]) => {
    const lines = wrapWords(text, columns - margin.length).map((line) => margin + line);
    if (isBelow) return [INDENT + name, ...lines];
    const [first = '', ...more] = lines;
    const padding = ' '.repeat(nameWidth - measureWidth(name));
    return [`${INDENT}${name}${padding}${INDENT}${first.slice(beside)}`.trimEnd(), ...more];
  });
}

/** Rows of at most so many columns, broken between words; a single word that is too wide is not broken. */
export function wrapWords(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && measureWidth(line) + 1 + measureWidth(word) > width) {
      lines.push(line.trimEnd());
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return line === '' ? lines : [...lines, line];
}

/** Cells as rows of columns, which are as wide as their widest cell; a column without any text is left out. */
export function alignColumns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((cells) => measureWidth(cells[column] ?? ''))),
  );
  return rows.map((cells) =>
    cells
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - measureWidth(cell)))
      .filter((_, column) => widths[column] !== 0)
      .join(INDENT)
      .trimEnd(),
  );
}
