export interface WordRun {
  readonly text: string;
  readonly isChanged: boolean;
}

/** Lines with a smaller share of common characters are not compared word by word. */
const MIN_COMMON = 0.2;

/** Undefined if it has too little in common with the other. */
export function findChangedWords(line: string, other: string): readonly WordRun[] | undefined {
  const words = splitTokens(line);
  const isCommon = findCommon(words, splitTokens(other));
  const common = words.filter((word, index) => isCommon?.[index] && word.trim() !== '').join('').length;
  if (isCommon === undefined || common < MIN_COMMON * (line.trim().length + 1)) return undefined;
  const isChanged = markBetween(words, isCommon);
  const runs: WordRun[] = [];
  for (let at = 0; at < words.length; ) {
    const start = at;
    while (at < words.length && isChanged[at] === isChanged[start]) at += 1;
    runs.push({ text: words.slice(start, at).join(''), isChanged: isChanged[start] === true });
  }
  return runs;
}

/** In pairs of lines: more are compared in the order in which they stand. */
const MAX_TRIES = 25;

/**
 * For each line of a change, the removed ones first, the line that it became or was. As many added as removed lines replace
 * each other in turn; else each removed line became the next added one with which it has words in common.
 */
export function pairLines(removed: readonly string[], added: readonly string[]): readonly (string | undefined)[] {
  const became = removed.map((): string | undefined => undefined);
  const was = added.map((): string | undefined => undefined);
  const isInTurn = removed.length === added.length || removed.length * added.length > MAX_TRIES;
  let next = 0;
  for (const [index, line] of removed.entries()) {
    const isLike = (other: string): boolean => findChangedWords(line.slice(1), other.slice(1)) !== undefined;
    const found = added.findIndex((other, place) => (isInTurn ? place === index : place >= next && isLike(other)));
    if (found === -1) continue;
    became[index] = added[found];
    was[found] = line;
    next = found + 1;
  }
  return became.concat(was);
}

/** The blanks between two changed words are marked with them, no others; unless nothing but blanks has changed. */
function markBetween(words: readonly string[], isCommon: readonly boolean[]): readonly boolean[] {
  const isBlank = (word: string): boolean => word.trim() === '';
  if (words.every((word, index) => isBlank(word) || isCommon[index])) return isCommon.map((common) => !common);
  return words.map((word, index) =>
    isBlank(word) ? isCommon[index - 1] === false && isCommon[index + 1] === false : !isCommon[index],
  );
}

/**
 * A character of Japanese or Chinese; a word with the marks and points inside of it, as `don't`, `1.25` or `gemini-2.5`; an
 * operator; blanks; any other character.
 */
const TOKENS =
  /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}]|[\p{L}\p{M}\p{N}_]+(?:(?:['’-]|(?<=\p{N})\.(?=\p{N}))[\p{L}\p{M}\p{N}_]+)*|[<>=!&|+*/%^~?:-]+|\s+|./gu;

function splitTokens(text: string): readonly string[] {
  return text.match(TOKENS) ?? [];
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
