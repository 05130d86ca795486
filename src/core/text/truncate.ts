import { measureWidth, splitGraphemes } from './width.ts';

/** Cuts a text to so many columns of a terminal. */
export function truncateEnd(text: string, columns: number): string {
  return measureWidth(text) <= columns ? text : `${takeGraphemes(splitGraphemes(text), columns - 1).join('')}…`;
}

/** Keeps the end, as of a path, whose end says more than its start. */
export function truncateStart(text: string, columns: number): string {
  if (measureWidth(text) <= columns) return text;
  return `…${takeGraphemes(splitGraphemes(text).toReversed(), columns - 1)
    .toReversed()
    .join('')}`;
}

function takeGraphemes(graphemes: readonly string[], columns: number): readonly string[] {
  let width = 0;
  const end = graphemes.findIndex((grapheme) => {
    width += measureWidth(grapheme);
    return width > columns;
  });
  return end === -1 ? graphemes : graphemes.slice(0, end);
}
