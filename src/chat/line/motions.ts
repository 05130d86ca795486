import { lastWord } from '../../core/text/trim.ts';
import { FOLD } from './folds.ts';

/** From a place in a text to another one: where a key moves the caret, or how far it deletes. Both are grapheme borders. */
export type Motion = (text: string, at: number) => number;

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
const words = new Intl.Segmenter(undefined, { granularity: 'word' });

/** The nearest grapheme border that is not before `at`. */
export function border(text: string, at: number): number {
  if (at <= 0) return 0;
  if (at >= text.length) return text.length;
  const { from, to } = lineAround(text, at);
  if (at === from || at === to) return at;
  const found = graphemes.segment(text.slice(from, to)).containing(at - from);
  if (found === undefined || found.index === at - from) return at;
  return from + found.index + found.segment.length;
}

export const left: Motion = (text, at) => {
  const { from, to } = lineAround(text, at);
  if (at === from) return Math.max(0, at - 1);
  const found = graphemes.segment(text.slice(from, to)).containing(at - 1 - from);
  return found === undefined ? at : from + found.index;
};

export const right: Motion = (text, at) => (at >= text.length ? at : border(text, at + 1));

export const lineStart: Motion = (text, at) => lineAround(text, at).from;
export const lineEnd: Motion = (text, at) => lineAround(text, at).to;

/** To the start of the line; from there over the line break, so that killing again goes on. */
export const killStart: Motion = (text, at) => {
  const start = lineStart(text, at);
  return start === at ? left(text, at) : start;
};

export const killEnd: Motion = (text, at) => {
  const end = lineEnd(text, at);
  return end === at ? right(text, at) : end;
};

/** Words as their language has them: those of Japanese have no spaces between them. */
export const wordLeft: Motion = (text, at) => {
  for (let end = at; end > 0; ) {
    const { from, to } = lineAround(text, end);
    const found = wordsIn(text.slice(from, to)).findLast(({ start }) => from + start < end);
    if (found !== undefined) return border(text, from + found.start);
    end = from - 1;
  }
  return 0;
};

export const wordRight: Motion = (text, at) => {
  for (let start = at; start < text.length; ) {
    const { from, to } = lineAround(text, start);
    const found = wordsIn(text.slice(from, to)).find(({ end }) => from + end > start);
    if (found !== undefined) return border(text, from + found.end);
    start = to + 1;
  }
  return text.length;
};

/** Back over spaces, then to the space before. */
export const spaceLeft: Motion = (text, at) => {
  const before = text.slice(0, at).trimEnd();
  return border(text, before.length - lastWord(before).length);
};

interface Word {
  readonly start: number;
  readonly end: number;
}

function wordsIn(line: string): readonly Word[] {
  return Array.from(words.segment(line))
    .filter(({ isWordLike, segment }) => isWordLike || FOLD.test(segment))
    .map(({ index, segment }) => ({ start: index, end: index + segment.length }));
}

/** No grapheme reaches over a line break, so looking at one line is enough. */
function lineAround(text: string, at: number): { readonly from: number; readonly to: number } {
  const end = text.indexOf('\n', at);
  return { from: at === 0 ? 0 : text.lastIndexOf('\n', at - 1) + 1, to: end === -1 ? text.length : end };
}
