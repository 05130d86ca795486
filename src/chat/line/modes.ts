import { chosenWord, type Menu, menuOf, stepped } from './menu.ts';
import type { Completion } from './source.ts';
import type { Editing, Use } from './state.ts';

/** Puts in what a completion makes certain, and opens a menu for the rest. */
export function offer(editing: Editing, completion: Completion): void {
  const { line, pastes } = editing;
  const before = line.text.slice(0, line.caret);
  // A completion counts the characters of a text that has its pastes in full.
  if (pastes.unfold(before) !== before) return;
  const { word, menu } = menuOf(completion, before);
  put(editing, { start: completion.start, candidates: [], word, chosen: -1 });
  editing.menu = menu;
}

/** What a key does while the menu is open. One that is none of its own closes it, and then does what it always does. */
export function pressInMenu(editing: Editing, name: string): Use {
  const { menu } = editing;
  if (menu === undefined) return 'free';
  if (name === 'tab' || name === 'down') choose(editing, stepped(menu, 1));
  else if (name === 'shift-tab' || name === 'up') choose(editing, stepped(menu, -1));
  else {
    editing.menu = undefined;
    if (name === 'escape' && menu.chosen !== -1) put(editing, { ...menu, chosen: -1 });
    return name === 'escape' || (name === 'enter' && menu.chosen !== -1) ? 'used' : 'free';
  }
  return 'used';
}

function choose(editing: Editing, menu: Menu): void {
  editing.menu = menu;
  put(editing, menu);
}

function put({ line }: Editing, menu: Menu): void {
  const word = chosenWord(menu);
  const start = line.text.slice(0, menu.start) + word;
  const text = start + line.text.slice(line.caret);
  if (text !== line.text) line.replace(text, start.length);
}
