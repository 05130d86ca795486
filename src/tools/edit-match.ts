import type { LineCounts } from '../core/tool.ts';

/** Adapts the replacement to one place that was found without regard to white space, given its pieces as in the file. */
type Adapt = (found: readonly string[]) => readonly string[];

/**
 * The replacement lines. A line the edit does not change stays as it is in the file, to the byte; a new one takes over
 * the indentation of the lines around it. `wanted` is how the edit spelled the lines found. Compared once for all places.
 */
export function keepLineForms(next: readonly string[], wanted: readonly string[]): Adapt {
  const kept = matchPieces(wanted, next);
  const own = new Map<string, number>();
  wanted.forEach((line, index) => {
    const indent = findIndent(line);
    const isKnown = own.has(indent) || own.size >= MAX_INDENTS || indent.length > MAX_INDENT_LENGTH;
    if (line.trim() !== '' && !isKnown) own.set(indent, index);
  });
  return (found) => {
    const indents = new Map([...own].map(([indent, index]) => [indent, findIndent(found[index] ?? '')]));
    return next.map((line, index) => {
      const same = kept[index];
      return same === undefined ? reindent(line, indents) : (found[same] ?? line);
    });
  };
}

/** Each line is compared with each of them. */
const MAX_INDENTS = 50;
const MAX_INDENT_LENGTH = 200;

interface Indent {
  readonly from: string;
  readonly to: string;
}

/**
 * The replacement words and gaps. A gap between two unchanged words stays as it is in the file; other gaps take over
 * the indentation of the file. Compared once for all places.
 */
export function keepGaps(
  next: readonly string[],
  wanted: readonly string[],
): (found: readonly string[], indent: Indent) => readonly string[] {
  const kept = matchPieces(wanted, next);
  return (found, indent) => {
    const indents = new Map([[indent.from, indent.to]]);
    return next.map((piece, index) => {
      if (piece.trim() !== '') return piece;
      const same = kept[index];
      const isInside = kept[index - 1] !== undefined && kept[index + 1] !== undefined;
      if (same !== undefined && isInside) return found[same] ?? piece;
      return piece.replace(/(?<=\n)[^\S\n]*$/, (blanks) => reindent(`${blanks}x`, indents).slice(0, -1));
    });
  };
}

export function findIndent(line: string): string {
  return /^[^\S\n]*/.exec(line)?.[0] ?? '';
}

function reindent(line: string, indents: ReadonlyMap<string, string>): string {
  if (line.trim() === '') return line;
  const own = findIndent(line);
  const known = [...indents.keys()].filter((indent) => own.startsWith(indent));
  const longest = known.reduce((best, indent) => (indent.length > best.length ? indent : best), '');
  return `${indents.get(longest) ?? ''}${line.slice(longest.length)}`;
}

/** Counts added and removed lines as a diff does; may count too many if very many lines differ. */
export function countChangedLines(before: string, after: string): LineCounts {
  const [old, next] = [splitKeepingBreaks(before), splitKeepingBreaks(after)];
  const kept = matchPieces(old, next).filter((index) => index !== undefined).length;
  return { added: next.length - kept, removed: old.length - kept };
}

function splitKeepingBreaks(text: string): readonly string[] {
  return text === '' ? [] : text.split(/(?<=\n)/);
}

/** A few milliseconds. */
export const MAX_CELLS = 250_000;

/**
 * For each new piece the index of the old piece it equals, or undefined: a longest common subsequence. Above this table
 * size only the common start and end are compared.
 */
export function matchPieces(
  old: readonly string[],
  next: readonly string[],
  maxCells = MAX_CELLS,
): readonly (number | undefined)[] {
  const kept: (number | undefined)[] = next.map(() => undefined);
  const room = Math.min(old.length, next.length);
  let head = 0;
  while (head < room && old[head] === next[head]) head += 1;
  let tail = 0;
  while (tail < room - head && old[old.length - 1 - tail] === next[next.length - 1 - tail]) tail += 1;
  for (let index = 0; index < head; index += 1) kept[index] = index;
  for (let index = 1; index <= tail; index += 1) kept[next.length - index] = old.length - index;
  const [rows, columns] = [old.length - head - tail, next.length - head - tail];
  if (rows * columns > maxCells) return kept;
  const lengths = computeCommonLengths(old.slice(head, head + rows), next.slice(head, head + columns));
  for (let [row, column] = [0, 0]; row < rows && column < columns; ) {
    if (old[head + row] === next[head + column]) {
      kept[head + column] = head + row;
      row += 1;
      column += 1;
    } else if (findLength(lengths, row + 1, column) >= findLength(lengths, row, column + 1)) row += 1;
    else column += 1;
  }
  return kept;
}

/** The length of the longest common subsequence of the rests that begin at each pair of indices. */
function computeCommonLengths(old: readonly string[], next: readonly string[]): readonly Uint32Array[] {
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint32Array(next.length + 1));
  for (let row = old.length - 1; row >= 0; row -= 1) {
    const line = lengths[row] ?? new Uint32Array();
    for (let column = next.length - 1; column >= 0; column -= 1) {
      line[column] =
        old[row] === next[column]
          ? findLength(lengths, row + 1, column + 1) + 1
          : Math.max(findLength(lengths, row + 1, column), findLength(lengths, row, column + 1));
    }
  }
  return lengths;
}

function findLength(lengths: readonly Uint32Array[], row: number, column: number): number {
  return lengths[row]?.[column] ?? 0;
}
