import fc from 'fast-check';

/** What people write, and what is hard to measure. */
const PIECES = [
  ...['a', 'b', ' ', '.', '/', 'Z', '9', '"', '\\'],
  ...['日', '本', '語', 'か', 'が', 'ｶﾞ', 'ー', '。', '한', '국', '어', '각'],
  ...['é', 'e\u0301', 'n\u0303\u0304', 'ก็', 'क्षि'],
  ...['👍', '👍🏽', '👨‍👩‍👧‍👦', '🇯🇵', '🇰🇷', '🏴󠁧󠁢󠁥󠁮󠁧󠁿', '1️⃣', '☺️', '❤️'],
  ...['\t', '\u001b', '\u0007', '\u200b', '\u202e', '\u0301', '\u200d', '\u{e0041}', '\u{10ffff}', '\u00a0'],
] as const;

/** Text of one line. */
export const lineText = fc.array(fc.constantFrom(...PIECES), { maxLength: 30 }).map((pieces) => pieces.join(''));

/** Text of several lines. */
export const anyText = fc.array(fc.constantFrom(...PIECES, '\n'), { maxLength: 40 }).map((pieces) => pieces.join(''));

/** Where graphemes begin and end. */
export function bordersOf(text: string): readonly number[] {
  const segments = new Intl.Segmenter(undefined, { granularity: 'grapheme' }).segment(text);
  return [...Array.from(segments, ({ index }) => index), text.length];
}

/** Named keys that do something to a line. */
export const KEY_NAMES = [
  ...['left', 'right', 'up', 'down', 'home', 'end', 'backspace', 'delete', 'tab', 'escape'],
  ...['ctrl-a', 'ctrl-e', 'ctrl-b', 'ctrl-f', 'ctrl-k', 'ctrl-u', 'ctrl-w', 'ctrl-y', 'ctrl-t', 'ctrl-_', 'ctrl-j'],
  ...['alt-b', 'alt-f', 'alt-d', 'alt-y', 'alt-backspace', 'alt-enter', 'ctrl-r', 'ctrl-s', 'ctrl-p', 'ctrl-n'],
] as const;
