/**
 * The words of a command line, quotes and backslashes taken off as a POSIX shell does. Nothing else of a shell means
 * anything here: `;`, `|`, `$` and the like are characters. A quote that does not end goes on to the end.
 */
export function commandWords(line: string): readonly string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (let index = 0; index < line.length; index += 1) {
    const char = line[index] ?? '';
    const next = line[index + 1];
    if (quote === '' && /\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (quote === '' && (char === "'" || char === '"')) {
      quote = char;
      word ??= '';
    } else if (char === quote) quote = '';
    else if (char === '\\' && next !== undefined && (quote === '' || (quote === '"' && /["\\$`]/.test(next)))) {
      word = `${word ?? ''}${next}`;
      index += 1;
    } else word = `${word ?? ''}${char}`;
  }
  return word === undefined ? words : [...words, word];
}
