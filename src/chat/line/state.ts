import type { Buffer } from './buffer.ts';
import type { Folds } from './folds.ts';
import type { Layout } from './layout.ts';
import type { Candidate, Completion } from './source.ts';

/** A line in the middle of being edited. Keys change it. */
export interface Editing {
  readonly line: Buffer;
  readonly pastes: Folds;
  /** Earlier entries, the oldest first. */
  readonly entries: () => readonly string[];
  /** Where everything stands now. */
  readonly layout: () => Layout;
  prompt: string;
  menu: Menu | undefined;
  walk: Walk | undefined;
  search: (Search & { readonly draft: string }) | undefined;
  /** Words to the person, until the next key. */
  note: string | undefined;
  /** When Ctrl+C was pressed, if no other key was since. */
  interruptedAt: number;
  /** What it took out of the line. */
  cleared: string;
  /** The column that Up and Down try to keep to. */
  goal: number | undefined;
  /** The first row that is shown of a line that is taller than the window. */
  top: number;
}

/** Whether a key was all used up by a mode of the line, or still has its usual meaning. */
export type Use = 'used' | 'free';

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

/** A walk through earlier entries, from the line as it was when it began. */
interface Walk {
  readonly draft: string;
  /** Entries that begin with this take part. */
  readonly prefix: string;
  /** Where in the list it stands; the number of entries is the draft itself. */
  readonly place: number;
}

/** The next older (-1) or newer (1) entry that differs from what stands there; undefined if there is none. */
export function walked(entries: readonly string[], walk: Walk, step: 1 | -1): { walk: Walk; text: string } | undefined {
  const shown = textAt(entries, walk);
  for (let place = walk.place + step; place >= 0 && place <= entries.length; place += step) {
    const next = { ...walk, place };
    const text = textAt(entries, next);
    const isMatch = place === entries.length || text.startsWith(walk.prefix);
    if (isMatch && (text !== shown || place === entries.length)) return { walk: next, text };
  }
  return undefined;
}

function textAt(entries: readonly string[], { draft, place }: Walk): string {
  return entries[place] ?? draft;
}

/** A search through earlier entries. */
export interface Search {
  readonly query: string;
  /** The entry that is found; the number of entries while none is. */
  readonly place: number;
  readonly hasFailed: boolean;
}

/** The search goes on from `place`, that one included, towards older (-1) or newer (1) entries. Case matters if it is used. */
export function searched(entries: readonly string[], query: string, place: number, step: 1 | -1 = -1): Search {
  const isExact = query !== query.toLowerCase();
  const matches = (text: string): boolean => (isExact ? text : text.toLowerCase()).includes(query);
  for (let index = Math.min(place, entries.length - 1); index >= 0 && index < entries.length; index += step) {
    if (query !== '' && matches(entries[index] ?? '')) return { query, place: index, hasFailed: false };
  }
  return { query, place: entries.length, hasFailed: query !== '' };
}
