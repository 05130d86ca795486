/**
 * The words of a command line, quotes and backslashes as in a shell; nothing is expanded, and nothing but a word comes of
 * it. Never throws: a quote that is left open ends with the line.
 */
export function commandWords(line: string): readonly string[] {
  const words: string[] = [];
  let word: string | undefined;
  for (const [piece, single, double, escaped, plain] of line.matchAll(PIECE)) {
    if (/^\s/.test(piece)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? '') + (single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped ?? plain ?? '');
  }
  return word === undefined ? words : [...words, word];
}

const PIECE = /\s+|'([^']*)'?|"((?:[^"\\]|\\[\s\S])*)"?|\\([\s\S])|([^\s'"\\]+|\\$)/g;
