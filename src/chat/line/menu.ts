import type { Candidate, Completion } from './source.ts';

/** The ways in which a word could go on, for a person to choose from. */
export interface Menu {
  readonly start: number;
  readonly candidates: readonly Candidate[];
  /** What stood there before the first one was tried. */
  readonly word: string;
  /** Which one is tried; -1 at first. */
  readonly chosen: number;
}

/** What a completion makes of the word before the caret at once, and the menu if there is something to choose. */
export function menuOf(
  { start, candidates }: Completion,
  before: string,
): { readonly word: string; readonly menu: Menu | undefined } {
  const word = before.slice(start);
  const [only] = candidates;
  if (only === undefined) return { word, menu: undefined };
  if (candidates.length === 1) return { word: only.insert, menu: undefined };
  const common = commonStart(candidates.map(({ insert }) => insert));
  // A fuzzy match need not begin with what was typed; then nothing of that may be lost.
  const longer = common.length > word.length && common.toLowerCase().startsWith(word.toLowerCase()) ? common : word;
  return { word: longer, menu: { start, candidates, word: longer, chosen: -1 } };
}

/** The next one, or the one before; beyond the last it begins again. */
export function stepped(menu: Menu, step: 1 | -1): Menu {
  const count = menu.candidates.length;
  const chosen = menu.chosen === -1 && step === -1 ? count - 1 : (menu.chosen + step + count) % count;
  return { ...menu, chosen };
}

/** What stands in the line for the menu. */
export function chosenWord({ candidates, chosen, word }: Menu): string {
  return candidates[chosen]?.insert ?? word;
}

function commonStart(words: readonly string[]): string {
  const [first = ''] = words;
  let length = first.length;
  for (const word of words) while (!word.startsWith(first.slice(0, length))) length -= 1;
  return first.slice(0, length).toWellFormed() === first.slice(0, length)
    ? first.slice(0, length)
    : first.slice(0, length - 1);
}
