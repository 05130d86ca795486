import type { Paint, Theme } from './theme.ts';

/** Whether a line of a diff was removed (`-`) or added (`+`); the names of files (`---`, `+++`) are neither. */
export function findChange(line: string): '-' | '+' | undefined {
  if (/^(?:---|\+\+\+)(?: |$)/.test(line)) return undefined;
  return line.startsWith('-') ? '-' : line.startsWith('+') ? '+' : undefined;
}

export function paintDiff(
  lines: readonly string[],
  theme: Theme,
  paintOther: (line: string) => string,
): readonly string[] {
  const painted: string[] = [];
  for (let at = 0; at < lines.length; ) {
    const removed = takeWhile(lines, at, '-');
    const added = takeWhile(lines, at + removed.length, '+');
    at += removed.length + added.length;
    if (removed.length + added.length === 0) {
      painted.push(paintOther(lines[at] ?? ''));
      at += 1;
    }
    painted.push(...removed.map((line, index) => paintChange(line, added[index], theme.removed, theme)));
    painted.push(...added.map((line, index) => paintChange(line, removed[index], theme.added, theme)));
  }
  return painted;
}

function takeWhile(lines: readonly string[], start: number, change: '-' | '+'): readonly string[] {
  const end = lines.findIndex((line, index) => index >= start && findChange(line) !== change);
  return lines.slice(start, end === -1 ? lines.length : end);
}

/** Lines that have less than this part of their characters in common are just different. */
const MIN_COMMON = 0.3;

function paintChange(line: string, other: string | undefined, paint: Paint, theme: Theme): string {
  const words = splitTokens(line.slice(1));
  const isCommon = other === undefined ? undefined : findCommon(words, splitTokens(other.slice(1)));
  const common = words.filter((word, index) => isCommon?.[index] && word.trim() !== '').join('').length;
  if (isCommon === undefined || common < MIN_COMMON * line.trim().length) return paint(line);
  let painted = paint(line.charAt(0));
  for (let at = 0; at < words.length; ) {
    const start = at;
    while (at < words.length && isCommon[at] === isCommon[start]) at += 1;
    const run = words.slice(start, at).join('');
    painted += paint(isCommon[start] ? run : theme.changed(run));
  }
  return painted;
}

function splitTokens(text: string): readonly string[] {
  return text.match(/[\p{L}\p{N}_]+|\s+|./gu) ?? [];
}

const MAX_PAIRS = 40_000;

/** For each word, whether it is in the longest common subsequence; undefined if the lines are too long to say. */
function findCommon(words: readonly string[], others: readonly string[]): readonly boolean[] | undefined {
  if (words.length * others.length > MAX_PAIRS) return undefined;
  const width = others.length + 1;
  const lengths = new Uint16Array((words.length + 1) * width);
  for (let row = words.length - 1; row >= 0; row -= 1) {
    for (let column = others.length - 1; column >= 0; column -= 1) {
      const at = row * width + column;
      lengths[at] =
        words[row] === others[column]
          ? (lengths[at + width + 1] ?? 0) + 1
          : Math.max(lengths[at + width] ?? 0, lengths[at + 1] ?? 0);
    }
  }
  const isCommon = words.map(() => false);
  for (let row = 0, column = 0; row < words.length && column < others.length; ) {
    const at = row * width + column;
    if (words[row] === others[column]) {
      isCommon[row] = true;
      row += 1;
      column += 1;
    } else if ((lengths[at + width] ?? 0) >= (lengths[at + 1] ?? 0)) row += 1;
    else column += 1;
  }
  return isCommon;
}
