export interface WordRun {
  readonly text: string;
  readonly isChanged: boolean;
}

/** Lines with a smaller share of common characters are not compared word by word. */
const MIN_COMMON = 0.3;

/** Undefined if it has too little in common with the other. */
export function findChangedWords(line: string, other: string): readonly WordRun[] | undefined {
  const words = splitTokens(line);
  const isCommon = findCommon(words, splitTokens(other));
  const common = words.filter((word, index) => isCommon?.[index] && word.trim() !== '').join('').length;
  if (isCommon === undefined || common < MIN_COMMON * (line.trim().length + 1)) return undefined;
  const runs: WordRun[] = [];
  for (let at = 0; at < words.length; ) {
    const start = at;
    while (at < words.length && isCommon[at] === isCommon[start]) at += 1;
    runs.push({ text: words.slice(start, at).join(''), isChanged: !isCommon[start] });
  }
  return runs;
}

function splitTokens(text: string): readonly string[] {
  return text.match(/[\p{L}\p{N}_]+|\s+|./gu) ?? [];
}

const MAX_PAIRS = 40_000;

/** Whether it is in the longest common subsequence; undefined if the lines are too long. */
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
