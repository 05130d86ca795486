import { widthOf } from '../core/text/width.ts';

/** A word or two, and what is to be said about it. */
export type Row = readonly [name: string, text: string];

const INDENT = '  ';
/** Beside less room than this, a text stands below its name. */
const MIN_TEXT = 24;

/** Rows as two columns, the texts wrapped at words so that none is wider than `columns`, as far as their words allow. */
export function rowLines(rows: readonly Row[], columns: number): readonly string[] {
  const nameWidth = Math.max(...rows.map(([name]) => widthOf(name)));
  const beside = INDENT.length + nameWidth + INDENT.length;
  const isBelow = columns - beside < MIN_TEXT;
  const margin = isBelow ? INDENT.repeat(3) : ' '.repeat(beside);
  return rows.flatMap(([name, text]) => {
    const lines = wrapped(text, columns - margin.length).map((line) => margin + line);
    if (isBelow) return [INDENT + name, ...lines];
    const [first = '', ...more] = lines;
    const padding = ' '.repeat(nameWidth - widthOf(name));
    return [`${INDENT}${name}${padding}${INDENT}${first.slice(beside)}`.trimEnd(), ...more];
  });
}

function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && widthOf(line) + 1 + widthOf(word) > width) {
      lines.push(line.trimEnd());
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return line === '' ? lines : [...lines, line];
}
