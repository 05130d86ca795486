import { isKnownLanguage, type Run, scopedLines } from './scopes.ts';
import { type Paint, plain, type Theme } from './theme.ts';

/** Colours the lines of one fence, in the order they come. */
export type Highlighter = (lines: readonly string[]) => readonly string[];

/** Some grammars take the square of the length of what they read: 2 KB of one letter cost up to 50 ms. So much is read at once. */
const MAX_PORTION = 1000;
/** The lines of an open comment or string that are read once more before the next portion. */
const MAX_CONTEXT = 1000;

/** A highlighter for one fence; for a language we do not know, one that gives every line back as it is. */
export function highlighterFor(language: string, theme: Theme): Highlighter {
  const read = theme.isStyled ? codeReader(language) : undefined;
  if (read === undefined) return (lines) => lines;
  return (lines) => {
    const runs = read(lines);
    return lines.map((line, index) => painted(runs[index] ?? [{ text: line, scopes: [] }], theme));
  };
}

/** The runs of each line; undefined for one that cannot be read. */
type CodeReader = (lines: readonly string[]) => readonly (readonly Run[] | undefined)[];

/** A reader for one piece of code, given in pieces; undefined if there is no grammar for its language. */
export function codeReader(language: string): CodeReader | undefined {
  if (!isKnownLanguage(language)) return undefined;
  // The lines since the last one that ended outside of any comment, string or the like.
  let context: readonly string[] = [];
  return (lines) =>
    portions(lines).flatMap((portion) => {
      const source = [...context, ...portion];
      const code = portion.some((line) => line.length > MAX_PORTION) ? undefined : scopedLines(source, language);
      const read = portion.map((_, index) => code?.lines[context.length + index]);
      context = code?.isOpen ? shortened(source) : [];
      return read;
    });
}

/** The lines, as many together as may be read at once. */
export function portions(lines: readonly string[]): readonly (readonly string[])[] {
  const found: string[][] = [];
  let room = 0;
  for (const line of lines) {
    const last = found.at(-1);
    room -= line.length + 1;
    if (last !== undefined && room >= 0) last.push(line);
    else {
      found.push([line]);
      room = MAX_PORTION - line.length - 1;
    }
  }
  return found;
}

/** Where a construct begins tells what it is: of one that is long the middle is left out. */
function shortened(lines: readonly string[]): readonly string[] {
  const [first = '', ...rest] = lines;
  let room = MAX_CONTEXT - first.length;
  const start = rest.findLastIndex((line) => {
    room -= line.length + 1;
    return room < 0;
  });
  return [first, ...rest.slice(start + 1)];
}

function painted(runs: readonly Run[], theme: Theme): string {
  return runs.map(({ text, scopes }) => paintOf(scopes, theme)(text)).join('');
}

/** The paint of the innermost scope that has one. */
function paintOf(scopes: readonly string[], theme: Theme): Paint {
  for (const scope of scopes.toReversed()) {
    for (const name of scope.split(' ')) {
      const paint = theme.scopes.get(name.split('-')[0] ?? '');
      if (paint !== undefined) return paint;
    }
  }
  return plain;
}
