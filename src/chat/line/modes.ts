import { findLastWord } from '../../core/text/trim.ts';
import type { Key } from '../terminal/keys.ts';
import { normalizeText } from './folds.ts';
import type { Completion } from './source.ts';
import {
  createMenu,
  type Editing,
  isTyped,
  type KeyUse,
  type Menu,
  moveMark,
  narrowMenu,
  searchHistory,
  suggestMenu,
} from './state.ts';

export function applyCompletion(editing: Editing, completion: Completion): void {
  const before = findPlainBefore(editing);
  if (before === undefined) return;
  const { word, menu } = createMenu(completion, before);
  putWord(editing, completion.start, word);
  editing.menu = menu;
  // The only candidate was inserted: what can follow it may have a menu of its own.
  editing.hasTyped = menu === undefined && completion.candidates.length === 1;
}

/**
 * The text up to the caret, if a menu should open for it by itself: a slash command, or a word that begins with `@`.
 * Not for an argument of which nothing is typed: Enter runs the command without one.
 */
export function findSuggestible(editing: Editing): string | undefined {
  const { hasTyped, dismissedAt, search } = editing;
  const before = findPlainBefore(editing);
  if (!hasTyped || search !== undefined || before === undefined) return undefined;
  const word = findLastWord(before);
  if (word === '' || before.length - word.length === dismissedAt) return undefined;
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
  const word = findLastWord(before ?? '');
  if (before === undefined || word === '' || before.length - word.length !== editing.dismissedAt) {
    editing.dismissedAt = undefined;
  }
  const isKept = editing.hasTyped && before !== undefined && !before.endsWith(' ');
  editing.menu = isKept ? menu && narrowMenu(menu, before) : undefined;
}

const MENU_STEPS: ReadonlyMap<string, 1 | -1> = new Map([
  ['down', 1],
  ['ctrl-n', 1],
  ['up', -1],
  ['ctrl-p', -1],
  ['shift-tab', -1],
]);

export function pressInMenu(editing: Editing, name: string): KeyUse {
  const { menu } = editing;
  if (menu === undefined) return 'free';
  if (name === 'enter') return takeMarked(editing, menu);
  const step = MENU_STEPS.get(name);
  if (step !== undefined) moveMarkIn(editing, menu, step);
  else if (name === 'tab') fillInMarked(editing, menu);
  else if (name === 'escape') dismissMenu(editing);
  else return 'free';
  return 'used';
}

/** Puts the marked candidate into the line. Gives Enter free to send the entry if it is complete then. */
function takeMarked(editing: Editing, menu: Menu): KeyUse {
  const { line } = editing;
  const marked = menu.candidates[menu.chosen];
  editing.menu = undefined;
  if (marked === undefined || isTyped(marked, menu.word)) return 'free';
  const isSent = marked.isWhole === true && line.caret === line.text.length;
  putWord(editing, menu.start, isSent ? marked.insert.trimEnd() : marked.insert);
  // A path is complete; after a command or a name more may follow.
  editing.hasTyped = !marked.insert.startsWith('@');
  return isSent ? 'free' : 'used';
}

function fillInMarked(editing: Editing, menu: Menu): void {
  const { line } = editing;
  const { text } = line;
  putWord(editing, menu.start, menu.candidates[menu.chosen]?.insert ?? menu.word);
  if (line.text === text && menu.candidates.length > 1) moveMarkIn(editing, menu, 1);
  else {
    editing.menu = undefined;
    editing.hasTyped = true;
  }
}

/** A lookup that ends later must not change what is marked. */
function moveMarkIn(editing: Editing, menu: Menu, step: 1 | -1): void {
  editing.hasTyped = false;
  editing.menu = moveMark(menu, step);
}

function dismissMenu(editing: Editing): void {
  const { line } = editing;
  editing.menu = undefined;
  editing.hasTyped = false;
  editing.dismissedAt = line.caret - findLastWord(line.text.slice(0, line.caret)).length;
}

function putWord({ line }: Editing, from: number, word: string): void {
  const start = line.text.slice(0, from) + word;
  const rest = line.text.slice(line.caret);
  const text = start + (word.endsWith(' ') ? rest.replace(/^ /, '') : rest);
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
