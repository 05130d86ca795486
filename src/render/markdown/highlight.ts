import { isKnownLanguage, type Run, scopedLines } from './scopes.ts';
import { type Paint, plain, type Theme } from './theme.ts';

/** Colours the lines of one fence, in the order they come. */
export type Highlighter = (lines: readonly string[]) => readonly string[];

/** A construct that runs over more lines than this loses its colour in the middle, so that each line costs the same. */
const MAX_CONTEXT = 60;
const MAX_LINE_LENGTH = 2000;

/** A highlighter for one fence; for a language we do not know, one that gives every line back as it is. */
export function highlighterFor(language: string, theme: Theme): Highlighter {
  if (!theme.isStyled || !isKnownLanguage(language)) return (lines) => lines;
  // The lines since the last one that ended outside of any comment, string or the like.
  let context: readonly string[] = [];
  return (lines) => {
    if (lines.some((line) => line.length > MAX_LINE_LENGTH)) {
      context = [];
      return lines;
    }
    const source = [...context, ...lines];
    const code = scopedLines(source, language);
    const shown = code?.lines.slice(context.length).map((runs) => painted(runs, theme)) ?? lines;
    context = code?.isOpen ? source.slice(-MAX_CONTEXT) : [];
    return shown;
  };
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
