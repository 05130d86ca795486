import { findLastWord } from '../../core/text/trim.ts';
import type { Key } from '../terminal/keys.ts';
import { normalizeText } from './folds.ts';
import type { Completion } from './source.ts';
import {
  createMenu,
  type Editing,
  findChosenWord,
  type KeyUse,
  type Menu,
  moveSelection,
  narrowMenu,
  searchHistory,
  suggestMenu,
} from './state.ts';

export function applyCompletion(editing: Editing, completion: Completion): void {
  const before = findPlainBefore(editing);
  if (before === undefined) return;
  const { word, menu } = createMenu(completion, before);
  putWord(editing, { start: completion.start, candidates: [], word, chosen: -1 });
  editing.menu = menu;
  // The only candidate was inserted: what can follow it may have a menu of its own.
  editing.hasTyped = menu === undefined && completion.candidates.length === 1;
}

/** The text up to the caret, if a menu should open for it by itself: a slash command, or a word that begins with `@`. */
export function findSuggestible(editing: Editing): string | undefined {
  const { hasTyped, dismissedAt, search } = editing;
  const before = findPlainBefore(editing);
  if (!hasTyped || search !== undefined || before === undefined) return undefined;
  const word = findLastWord(before);
  if (before.length - word.length === dismissedAt) return undefined;
  const isCommand = before.startsWith('/') && !before.startsWith('//') && !before.includes('\n');
  return isCommand || word.startsWith('@') ? before : undefined;
}

export function showSuggestions(editing: Editing, before: string, completion: Completion | undefined): void {
  if (findSuggestible(editing) !== before) return;
  editing.menu = completion && suggestMenu(completion, before);
}

/** Undefined with pasted blocks in the text: the offsets of a completion refer to the expanded text. */
function findPlainBefore({ line, pastes }: Editing): string | undefined {
  const before = line.text.slice(0, line.caret);
  return pastes.unfold(before) === before ? before : undefined;
}

/** Keys that change the word a menu is for: the menu stays open and becomes narrower or wider. */
const TYPING_KEYS: ReadonlySet<string> = new Set(['backspace', 'shift-backspace', 'ctrl-h', 'ctrl-w', 'alt-backspace']);

export function updateMenu(editing: Editing, menu: Menu | undefined, key: Key): void {
  editing.hasTyped = key.kind === 'text' || (key.kind === 'key' && TYPING_KEYS.has(key.name));
  const before = findPlainBefore(editing);
  if (before === undefined || before.length - findLastWord(before).length !== editing.dismissedAt || before === '') {
    editing.dismissedAt = undefined;
  }
  const isKept = menu?.chosen === -1 && editing.hasTyped && before !== undefined && !before.endsWith(' ');
  editing.menu = isKept ? narrowMenu(menu, before) : undefined;
}

export function pressInMenu(editing: Editing, name: string): KeyUse {
  const { menu } = editing;
  if (menu === undefined) return 'free';
  if (name === 'tab' && menu.isStale) return 'free';
  if (name === 'tab' && menu.chosen === -1) completeInMenu(editing, menu);
  else if (name === 'tab' || name === 'down') chooseCandidate(editing, moveSelection(menu, 1));
  else if (name === 'shift-tab' || name === 'up') chooseCandidate(editing, moveSelection(menu, -1));
  else if (name === 'escape') dismissMenu(editing, menu);
  else if (name === 'enter' && menu.chosen !== -1) {
    editing.menu = undefined;
    editing.hasTyped = true;
    return menu.candidates[menu.chosen]?.isWhole ? 'free' : 'used';
  } else return 'free';
  return 'used';
}

function completeInMenu(editing: Editing, menu: Menu): void {
  const { word, menu: rest } = createMenu({ start: 0, candidates: menu.candidates }, menu.word);
  if (word === menu.word && rest !== undefined) chooseCandidate(editing, moveSelection(menu, 1));
  else {
    putWord(editing, { ...menu, word });
    editing.menu = rest && { ...rest, start: menu.start };
    editing.hasTyped = true;
  }
}

function dismissMenu(editing: Editing, menu: Menu): void {
  if (menu.chosen !== -1) putWord(editing, { ...menu, chosen: -1 });
  const { line } = editing;
  editing.menu = undefined;
  editing.hasTyped = false;
  editing.dismissedAt = line.caret - findLastWord(line.text.slice(0, line.caret)).length;
}

function chooseCandidate(editing: Editing, menu: Menu): void {
  editing.hasTyped = false;
  editing.menu = menu;
  putWord(editing, menu);
}

function putWord({ line }: Editing, menu: Menu): void {
  const word = findChosenWord(menu);
  const start = line.text.slice(0, menu.start) + word;
  const text = start + line.text.slice(line.caret);
  if (text !== line.text) line.replace(text, start.length);
}

export function updateSearch(editing: Editing, query: string, place: number, step: 1 | -1 = -1): void {
  const { line, entries, search: before } = editing;
  const draft = before?.draft ?? line.text;
  const found = searchHistory(entries(), query, place, step);
  const isStuck = found.hasFailed && query === before?.query;
  const search = isStuck ? { ...before, hasFailed: true } : { ...found, draft };
  editing.search = search;
  const text = entries()[search.place] ?? draft;
  if (text !== line.text) line.replace(text);
  const at = search.place === entries().length ? text.length : text.toLowerCase().indexOf(query.toLowerCase());
  line.move(() => Math.max(0, at));
}

const ENDING_KEYS: ReadonlySet<string> = new Set(['ctrl-g', 'ctrl-c', 'enter', 'tab', 'escape']);

export function pressInSearch(editing: Editing, key: Key): KeyUse {
  const { search, line, entries } = editing;
  if (search === undefined || key.kind === 'kitty') return 'free';
  const { query, place, draft } = search;
  const name = key.kind === 'key' ? key.name : '';
  if (key.kind !== 'key')
    updateSearch(editing, query + normalizeText(key.text).replaceAll('\n', ' '), entries().length);
  else if (name === 'ctrl-r') updateSearch(editing, query, place - 1);
  else if (name === 'ctrl-s') updateSearch(editing, query, place + 1, 1);
  else if (name === 'backspace' || name === 'ctrl-h')
    updateSearch(editing, [...query].slice(0, -1).join(''), entries().length);
  else {
    editing.search = undefined;
    if (name === 'ctrl-g' || name === 'ctrl-c') line.replace(draft);
    return ENDING_KEYS.has(name) ? 'used' : 'free';
  }
  return 'used';
}
