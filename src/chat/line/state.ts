import type { LineBuffer } from './buffer.ts';
import type { PastedBlocks } from './folds.ts';
import type { Layout } from './layout.ts';
import type { Candidate, Completion, FitStatus } from './source.ts';

export interface Editing {
  readonly line: LineBuffer;
  readonly pastes: PastedBlocks;
  readonly entries: () => readonly string[];
  readonly layout: () => Layout;
  prompt: string;
  menu: Menu | undefined;
  walk: Walk | undefined;
  search: (Search & { readonly draft: string }) | undefined;
  hasTyped: boolean;
  /** Where the word starts whose menu the user closed: it does not open by itself again. */
  dismissedAt: number | undefined;
  notice: string | undefined;
  status: FitStatus | undefined;
  /** When Ctrl+C was pressed, if no other key was pressed since. */
  interruptedAt: number;
  /** When Esc was pressed on an empty line, if no other key was pressed since. */
  escapedAt: number;
  /** When the last turn ended, if no key but Ctrl+C was pressed since. */
  turnEndedAt: number;
  cleared: string;
  /** The column that Up and Down try to keep. */
  goal: number | undefined;
  top: number;
}

export type KeyUse = 'used' | 'free';

export interface Menu {
  readonly start: number;
  readonly candidates: readonly Candidate[];
  readonly word: string;
  /** Index of the marked candidate, which Enter and Tab take. */
  readonly chosen: number;
}

export function createMenu(
  { start, candidates }: Completion,
  before: string,
): { readonly word: string; readonly menu: Menu | undefined } {
  const word = before.slice(start);
  const [only] = candidates;
  if (only === undefined) return { word, menu: undefined };
  if (candidates.length === 1) return { word: only.insert, menu: undefined };
  const common = findCommonPrefix(candidates.map(({ insert }) => insert));
  // A fuzzy match need not begin with the typed text; then keep what was typed.
  const longer = common.length > word.length && common.toLowerCase().startsWith(word.toLowerCase()) ? common : word;
  return { word: longer, menu: openMenu(start, candidates, longer) };
}

export function suggestMenu({ start, candidates }: Completion, before: string): Menu | undefined {
  const word = before.slice(start);
  const [only] = candidates;
  const isDone = candidates.length === 1 && only !== undefined && isTyped(only, word);
  return candidates.length === 0 || isDone ? undefined : openMenu(start, candidates, word);
}

export function narrowMenu({ start, candidates }: Menu, before: string): Menu | undefined {
  const word = before.slice(start);
  const wanted = word.replace(/^[/@]/, '').toLowerCase();
  const left = candidates.filter(({ insert }) => insert.toLowerCase().includes(wanted));
  return word === '' || left.length === 0 ? undefined : openMenu(start, left, word);
}

/** What was typed in full comes first, so that Enter sends it. */
function openMenu(start: number, candidates: readonly Candidate[], word: string): Menu {
  const typed = candidates.filter((candidate) => isTyped(candidate, word));
  const others = candidates.filter((candidate) => !typed.includes(candidate));
  return { start, candidates: [...typed, ...others], word, chosen: 0 };
}

/** Whether the word is this candidate; the slash of a directory may be missing. */
export function isTyped({ insert }: Candidate, word: string): boolean {
  const trimmed = insert.trimEnd();
  return trimmed === word || trimmed === `${word}/`;
}

export function moveMark(menu: Menu, step: 1 | -1): Menu {
  const count = menu.candidates.length;
  return { ...menu, chosen: (menu.chosen + step + count) % count };
}

function findCommonPrefix(words: readonly string[]): string {
  const [first = ''] = words;
  let length = first.length;
  for (const word of words) while (!word.startsWith(first.slice(0, length))) length -= 1;
  return first.slice(0, length).toWellFormed() === first.slice(0, length)
    ? first.slice(0, length)
    : first.slice(0, length - 1);
}

interface Walk {
  readonly draft: string;
  /** Only entries that begin with this are shown. */
  readonly prefix: string;
  /** Index of the entry shown; the number of entries means the draft. */
  readonly place: number;
}

/** The next older (-1) or newer (1) entry that differs from the one shown; undefined if there is none. */
export function stepHistory(
  entries: readonly string[],
  walk: Walk,
  step: 1 | -1,
): { walk: Walk; text: string } | undefined {
  const shown = findEntryText(entries, walk);
  for (let place = walk.place + step; place >= 0 && place <= entries.length; place += step) {
    const next = { ...walk, place };
    const text = findEntryText(entries, next);
    const isMatch = place === entries.length || text.startsWith(walk.prefix);
    if (isMatch && (text !== shown || place === entries.length)) return { walk: next, text };
  }
  return undefined;
}

function findEntryText(entries: readonly string[], { draft, place }: Walk): string {
  return entries[place] ?? draft;
}

export interface Search {
  readonly query: string;
  /** Index of the match; the number of entries if there is none. */
  readonly place: number;
  readonly hasFailed: boolean;
}

/**
 * Searches from `place` (inclusive) towards older (-1) or newer (1) entries. Case matters only if the query has
 * capitals.
 */
export function searchHistory(entries: readonly string[], query: string, place: number, step: 1 | -1 = -1): Search {
  const isExact = query !== query.toLowerCase();
  const matches = (text: string): boolean => (isExact ? text : text.toLowerCase()).includes(query);
  for (let index = Math.min(place, entries.length - 1); index >= 0 && index < entries.length; index += step) {
    if (query !== '' && matches(entries[index] ?? '')) return { query, place: index, hasFailed: false };
  }
  return { query, place: entries.length, hasFailed: query !== '' };
}
