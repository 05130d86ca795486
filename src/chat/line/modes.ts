import type { Key } from '../terminal/keys.ts';
import { normalizeText } from './folds.ts';
import type { Completion } from './source.ts';
import { chosenWord, createMenu, type Editing, type KeyUse, type Menu, moveSelection, searchHistory } from './state.ts';

/** Inserts what all candidates have in common, and opens a menu for the rest. */
export function applyCompletion(editing: Editing, completion: Completion): void {
  const { line, pastes } = editing;
  const before = line.text.slice(0, line.caret);
  // The offset of a completion refers to the expanded text, so a line with pasted blocks cannot be completed.
  if (pastes.unfold(before) !== before) return;
  const { word, menu } = createMenu(completion, before);
  putWord(editing, { start: completion.start, candidates: [], word, chosen: -1 });
  editing.menu = menu;
}

/** Handles a key while the menu is open. Any other key closes the menu and keeps its usual meaning. */
export function pressInMenu(editing: Editing, name: string): KeyUse {
  const { menu } = editing;
  if (menu === undefined) return 'free';
  if (name === 'tab' || name === 'down') chooseCandidate(editing, moveSelection(menu, 1));
  else if (name === 'shift-tab' || name === 'up') chooseCandidate(editing, moveSelection(menu, -1));
  else {
    editing.menu = undefined;
    if (name === 'escape' && menu.chosen !== -1) putWord(editing, { ...menu, chosen: -1 });
    return name === 'escape' || (name === 'enter' && menu.chosen !== -1) ? 'used' : 'free';
  }
  return 'used';
}

function chooseCandidate(editing: Editing, menu: Menu): void {
  editing.menu = menu;
  putWord(editing, menu);
}

function putWord({ line }: Editing, menu: Menu): void {
  const word = chosenWord(menu);
  const start = line.text.slice(0, menu.start) + word;
  const text = start + line.text.slice(line.caret);
  if (text !== line.text) line.replace(text, start.length);
}

/** Begins or continues a search through earlier entries; the line shows the match. */
export function updateSearch(editing: Editing, query: string, place: number, step: 1 | -1 = -1): void {
  const { line, entries, search: before } = editing;
  const draft = before?.draft ?? line.text;
  const found = searchHistory(entries(), query, place, step);
  // No further match: keep the last one.
  const isStuck = found.hasFailed && query === before?.query;
  const search = isStuck ? { ...before, hasFailed: true } : { ...found, draft };
  editing.search = search;
  const text = entries()[search.place] ?? draft;
  if (text !== line.text) line.replace(text);
  const at = search.place === entries().length ? text.length : text.toLowerCase().indexOf(query.toLowerCase());
  line.move(() => Math.max(0, at));
}

/** Keys that cancel or accept the search and do nothing else. */
const ENDING_KEYS: ReadonlySet<string> = new Set(['ctrl-g', 'ctrl-c', 'enter', 'tab', 'escape']);

/** Handles a key during a search. Any other key ends the search and keeps its usual meaning. */
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
