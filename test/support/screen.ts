import { measureWidth, splitGraphemes } from '../../src/core/text/width.ts';

/** A terminal as far as a line editor needs one: it prints, wraps, moves, erases, scrolls, and rewraps when it is resized. */
export interface TestScreen {
  write(output: string): void;
  resize(columns: number): void;
  /** From the first row ever written, without spaces at the ends of rows and without empty rows at the end. */
  readonly rows: readonly string[];
  readonly cursor: { readonly row: number; readonly column: number };
  /** Numbers of the rows that the terminal itself wrapped. */
  readonly wrapped: ReadonlySet<number>;
}

interface Line {
  /** A wide character is followed by an empty cell. */
  cells: string[];
  isWrapped: boolean;
}

const TOKEN =
  /\u001b[78]|\u001b\[([?<>]?)([\d;]*)([A-Za-z])|\u001b\][^\u0007]*\u0007|[\r\n\b\u0007]|[^\u001b\r\n\b\u0007]+/g;

/** Throws at any sequence that it does not know. */
export function testScreen(size: { readonly columns: number; readonly rows: number }): TestScreen {
  let columns = size.columns;
  let lines: Line[] = [{ cells: [], isWrapped: false }];
  let row = 0;
  let column = 0;
  let saved = { row: 0, column: 0 };
  const top = (): number => Math.max(0, lines.length - size.rows);
  const lineAt = (index: number): Line => {
    while (lines.length <= index) lines.push({ cells: [], isWrapped: false });
    return lines[index] ?? { cells: [], isWrapped: false };
  };
  const print = (grapheme: string): void => {
    const width = measureWidth(grapheme);
    if (width === 0) throw new Error(`printed nothing: ${JSON.stringify(grapheme)}`);
    if (column + width > columns) {
      lineAt(row).isWrapped = true;
      row += 1;
      column = 0;
    }
    const { cells } = lineAt(row);
    while (cells.length < column) cells.push(' ');
    cells.splice(column, width, grapheme, ...Array<string>(width - 1).fill(''));
    column += width;
  };
  const control = (mark: string, parameters: string, final: string): void => {
    const count = Number(parameters) || 1;
    if (mark !== '') return;
    if (final === 'A') row = Math.max(top(), row - count);
    else if (final === 'B') row = Math.min(lines.length - 1, row + count);
    else if (final === 'C') column = Math.min(columns - 1, column + count);
    else if (final === 'G') column = Math.min(columns, count) - 1;
    else if (final === 'K') lineAt(row).cells.length = Math.min(lineAt(row).cells.length, column);
    else if (final === 'J' && parameters === '2') {
      lines = lines.slice(0, top() + 1);
      lineAt(top()).cells = [];
    } else if (final === 'J') {
      lineAt(row).cells.length = Math.min(lineAt(row).cells.length, column);
      lineAt(row).isWrapped = false;
      for (const line of lines.slice(row + 1)) Object.assign(line, { cells: [], isWrapped: false });
    } else if (final === 'H') {
      row = top();
      column = 0;
    } else if (final !== 'm') throw new Error(`unknown sequence: ${parameters}${final}`);
  };
  return {
    write(output) {
      for (const [token, mark = '', parameters = '', final] of output.matchAll(TOKEN)) {
        if (final !== undefined) control(mark, parameters, final);
        else if (token.startsWith('\u001b]') || token === '\u0007') continue;
        else if (token === '\u001b7') saved = { row: row - top(), column };
        else if (token === '\u001b8') [row, column] = [saved.row + top(), saved.column];
        else if (token === '\r') column = 0;
        else if (token === '\b') column = Math.max(0, Math.min(column, columns - 1) - 1);
        else if (token === '\n') {
          // Like the driver of a terminal, which turns LF into CR and LF.
          row += 1;
          column = 0;
          lineAt(row);
        } else for (const grapheme of splitGraphemes(token)) print(grapheme);
      }
    },
    resize(next) {
      ({ lines, row, column } = rewrapped(lines, { row, column }, next));
      columns = next;
    },
    get rows() {
      const texts = lines.map(({ cells }) => cells.join('').trimEnd());
      return texts.slice(0, texts.findLastIndex((text) => text !== '') + 1);
    },
    get cursor() {
      return { row, column };
    },
    get wrapped() {
      return new Set([...lines.keys()].filter((index) => lines[index]?.isWrapped));
    },
  };
}

function rewrapped(lines: readonly Line[], cursor: { row: number; column: number }, columns: number) {
  const result: Line[] = [];
  let moved = cursor;
  let whole: string[] = [];
  let cursorAt: number | undefined;
  for (const [index, { cells, isWrapped }] of lines.entries()) {
    if (index === cursor.row) cursorAt = whole.length + cursor.column;
    whole.push(...cells);
    if (isWrapped) continue;
    const start = result.length;
    const starts = rowStarts(whole, columns);
    for (const [row, from] of starts.entries()) {
      const end = starts[row + 1];
      result.push({ cells: whole.slice(from, end), isWrapped: end !== undefined });
    }
    if (cursorAt !== undefined) {
      // After the last character of a full row the cursor waits there until something is printed.
      const row = starts.findLastIndex((from) => from <= (cursorAt ?? 0));
      const column = cursorAt - (starts[row] ?? 0);
      const isWaiting = cursorAt === whole.length && column >= columns;
      moved = isWaiting
        ? { row: start + row, column }
        : { row: start + row + Math.floor(column / columns), column: column % columns };
      while (result.length <= moved.row) result.push({ cells: [], isWrapped: false });
    }
    whole = [];
    cursorAt = undefined;
  }
  return { lines: result, ...moved };
}

/** A wide character is not split, but moves to the next row. */
function rowStarts(cells: readonly string[], columns: number): readonly number[] {
  const starts = [0];
  for (;;) {
    const edge = (starts.at(-1) ?? 0) + columns;
    const end = cells[edge] !== '' ? edge : columns === 1 ? edge + 1 : edge - 1;
    if (end >= cells.length) return starts;
    starts.push(end);
  }
}
