import type { Frame } from '../../core/text/frame.ts';
import type { Key } from '../terminal/keys.ts';
import { createBuffer } from './buffer.ts';
import { isRowKey, KEY_COMMANDS, KEY_EDITS, type KeyRequest } from './commands.ts';
import { createPastedBlocks, isOpenBlock, normalizeText } from './folds.ts';
import { layOut } from './layout.ts';
import { applyCompletion, findSuggestible, pressInMenu, pressInSearch, showSuggestions, updateMenu } from './modes.ts';
import type { Completion, FitStatus } from './source.ts';
import type { Editing, Menu } from './state.ts';
import { type Below, layOutFrame, type Size } from './view.ts';

export interface LineEditor {
  readonly before: string;
  readonly text: string;
  /** What would be lost if the chat ended now: the text, or what Ctrl+C has just cleared. */
  readonly draft: string;
  /** A Ctrl+C that is pressed soon after this was meant for the turn. */
  noteTurnEnd(now: number): void;
  begin(prompt: string, draft: string, status?: FitStatus): void;
  press(key: Key, now: number): KeyRequest | undefined;
  showCompletion(completion: Completion): void;
  readonly suggestible: string | undefined;
  showSuggestions(before: string, completion: Completion | undefined): void;
  readonly menu: Menu | undefined;
  replace(text: string): void;
  setStatus(status: FitStatus | undefined): void;
  showNotice(notice: string): void;
  clear(): void;
  frame(): Frame;
  /** The line without anything below it: what stays on the screen after it is sent. */
  lastFrame(): Frame;
}

interface EditorOptions {
  /** The oldest first. */
  readonly entries: () => readonly string[];
  readonly size: () => Size;
  readonly isStyled: boolean;
  /** For terminals that cannot place the cursor: the caret stays at the end. */
  readonly isPlain: boolean;
}

/** A lower window has no row to spare for the status. */
const MIN_STATUS_ROWS = 8;
const BLOCK_NOTICE = 'A line with """ ends the block.';

export function lineEditor({ entries, size, isStyled, isPlain }: EditorOptions): LineEditor {
  const editing = createEditing(entries, size);
  const { line, pastes } = editing;
  const layOutWith = (below: Below | undefined): Frame => {
    const { frame, top } = layOutFrame(editing.layout(), below, { size: size(), isStyled, top: editing.top });
    editing.top = top;
    return frame;
  };
  return {
    get before() {
      return pastes.unfold(line.text.slice(0, line.caret));
    },
    get text() {
      return pastes.unfold(line.text);
    },
    get draft() {
      return pastes.unfold(line.text === '' ? editing.cleared : line.text);
    },
    noteTurnEnd(now) {
      editing.turnEndedAt = now;
    },
    begin(prompt, draft, status) {
      editing.prompt = prompt;
      editing.status = status;
      editing.notice = undefined;
      if (draft !== '') line.replace(normalizeText(draft) + line.text);
    },
    press(key, now) {
      const request = pressKey(editing, key, now);
      if (isPlain) line.move((text) => text.length);
      return request;
    },
    showCompletion: (completion) => applyCompletion(editing, completion),
    get suggestible() {
      return isPlain ? undefined : findSuggestible(editing);
    },
    showSuggestions: (before, completion) => showSuggestions(editing, before, completion),
    get menu() {
      return editing.menu;
    },
    replace(text) {
      editing.menu = undefined;
      line.replace(normalizeText(text));
    },
    setStatus(status) {
      editing.status = status;
    },
    showNotice(notice) {
      editing.notice = notice;
    },
    clear() {
      line.reset(pastes.unfold);
      pastes.clear();
      editing.top = 0;
    },
    frame: () => layOutWith(findBelow(editing, size())),
    lastFrame: () => layOutWith(undefined),
  };
}

function createEditing(entries: () => readonly string[], size: () => Size): Editing {
  const line = createBuffer();
  const pastes = createPastedBlocks();
  const editing: Editing = {
    ...{
      line,
      pastes,
      entries,
      prompt: '',
      notice: undefined,
      status: undefined,
      interruptedAt: Number.NEGATIVE_INFINITY,
      escapedAt: Number.NEGATIVE_INFINITY,
      turnEndedAt: Number.NEGATIVE_INFINITY,
      cleared: '',
      top: 0,
    },
    ...{
      menu: undefined,
      hasTyped: false,
      dismissedAt: undefined,
      walk: undefined,
      search: undefined,
      goal: undefined,
    },
    layout: () => {
      const { text, caret } = line;
      return layOut({ prompt: editing.prompt, text, caret, columns: size().columns, label: pastes.label });
    },
  };
  return editing;
}

function pressKey(editing: Editing, key: Key, now: number): KeyRequest | undefined {
  if (key.kind === 'kitty') return undefined;
  editing.notice = undefined;
  if (pressInSearch(editing, key) === 'used') return undefined;
  const name = key.kind === 'key' ? key.name : '';
  if (name !== 'escape') editing.escapedAt = Number.NEGATIVE_INFINITY;
  if (name !== 'ctrl-c') {
    editing.interruptedAt = Number.NEGATIVE_INFINITY;
    editing.turnEndedAt = Number.NEGATIVE_INFINITY;
    editing.cleared = '';
  }
  if (pressInMenu(editing, name) === 'used') return undefined;
  if (!isRowKey(name)) {
    editing.goal = undefined;
    editing.walk = undefined;
  }
  const { menu } = editing;
  const request = applyKey(editing, key, now);
  updateMenu(editing, menu, key);
  return request;
}

function applyKey(editing: Editing, key: Exclude<Key, { kind: 'kitty' }>, now: number): KeyRequest | undefined {
  const { line, pastes } = editing;
  if (key.kind === 'text') line.insert(normalizeText(key.text));
  else if (key.kind === 'paste') line.insert(pastes.fold(normalizeText(key.text)));
  else if (KEY_COMMANDS.has(key.name)) return KEY_COMMANDS.get(key.name)?.(editing, now);
  else KEY_EDITS.get(key.name)?.(line);
  return undefined;
}

function findBelow({ search, menu, notice, line, status }: Editing, { columns, rows }: Size): Below | undefined {
  if (search !== undefined) return { kind: 'search', search };
  if (menu !== undefined) return { kind: 'menu', menu };
  if (notice !== undefined) return { kind: 'notice', text: notice };
  if (isOpenBlock(line.text)) return { kind: 'notice', text: BLOCK_NOTICE };
  return status === undefined || rows < MIN_STATUS_ROWS ? undefined : { kind: 'status', text: status(columns - 1) };
}
