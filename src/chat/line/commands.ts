import {
  killEnd,
  killStart,
  type LineBuffer,
  left,
  lineEnd,
  lineStart,
  right,
  spaceLeft,
  wordLeft,
  wordRight,
} from './buffer.ts';
import { isOpenBlock, PASTE_CHARACTER, stripBlockMarks } from './folds.ts';
import { updateSearch } from './modes.ts';
import { type Editing, stepHistory } from './state.ts';

export type KeyRequest =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'end' }
  | { readonly kind: 'leave' }
  | { readonly kind: 'next-mode' }
  | { readonly kind: 'rewind' }
  | { readonly kind: 'complete' }
  | { readonly kind: 'edit' }
  | { readonly kind: 'paste' }
  | { readonly kind: 'suspend' }
  | { readonly kind: 'clear-screen' };

type KeyCommand = (editing: Editing, now: number) => KeyRequest | undefined;

/** A second Ctrl+C within this time leaves the chat; a second Esc goes back. */
export const LEAVE_WITHIN_MS = 2000;
/** For this time after a turn has ended, Ctrl+C was meant to stop that turn. */
const LATE_WITHIN_MS = 800;
const LATE_NOTICE = 'That has already ended. On an empty line, Ctrl+C leaves.';
const REWIND_NOTICE = 'Esc again goes back to an earlier prompt.';
const CLEARED_NOTICE = 'Cleared. Ctrl+_ brings it back, Ctrl+C again leaves.';

const moveUp: KeyCommand = (editing) => moveRow(editing, -1);
const moveDown: KeyCommand = (editing) => moveRow(editing, 1);

export const KEY_COMMANDS: ReadonlyMap<string, KeyCommand> = new Map<string, KeyCommand>([
  ['enter', sendOrContinue],
  ['tab', expandOrComplete],
  ['shift-tab', () => ({ kind: 'next-mode' })],
  ['ctrl-c', clearOrLeave],
  ['escape', rewindOnSecond],
  ['ctrl-d', endOrDelete],
  ['ctrl-g', () => ({ kind: 'edit' })],
  ['ctrl-v', () => ({ kind: 'paste' })],
  ['ctrl-l', () => ({ kind: 'clear-screen' })],
  ['ctrl-z', () => ({ kind: 'suspend' })],
  ['ctrl-r', startSearch],
  ['up', moveUp],
  ['ctrl-p', moveUp],
  ['down', moveDown],
  ['ctrl-n', moveDown],
]);

export function isRowKey(name: string): boolean {
  return KEY_COMMANDS.get(name) === moveUp || KEY_COMMANDS.get(name) === moveDown;
}

function sendOrContinue({ line, pastes }: Editing): KeyRequest | undefined {
  const isContinued = /(?<!\\)(?:\\\\)*\\$/.test(line.text.slice(0, line.caret));
  if (isContinued) line.delete((_, at) => at - 1);
  else if (isOpenBlock(line.text)) line.move((text) => text.length);
  else {
    const text = stripBlockMarks(pastes.unfold(line.text));
    return text.trim() === '' ? undefined : { kind: 'text', text };
  }
  line.insert('\n');
  return undefined;
}

function expandOrComplete({ line, pastes }: Editing): KeyRequest | undefined {
  const before = line.text[line.caret - 1] ?? '';
  if (!PASTE_CHARACTER.test(before)) return { kind: 'complete' };
  const start = line.text.slice(0, line.caret - 1) + pastes.unfold(before);
  line.replace(start + line.text.slice(line.caret), start.length);
  return undefined;
}

function clearOrLeave(editing: Editing, now: number): KeyRequest | undefined {
  if (now - editing.turnEndedAt < LATE_WITHIN_MS) {
    editing.notice = LATE_NOTICE;
    return undefined;
  }
  const isSecond = now - editing.interruptedAt < LEAVE_WITHIN_MS;
  editing.interruptedAt = now;
  if (editing.line.text === '' || isSecond) return { kind: 'leave' };
  editing.cleared = editing.line.text;
  editing.line.replace('');
  editing.notice = CLEARED_NOTICE;
  return undefined;
}

function rewindOnSecond(editing: Editing, now: number): KeyRequest | undefined {
  if (editing.line.text !== '') return undefined;
  const isSecond = now - editing.escapedAt < LEAVE_WITHIN_MS;
  editing.escapedAt = isSecond ? Number.NEGATIVE_INFINITY : now;
  if (isSecond) return { kind: 'rewind' };
  editing.notice = REWIND_NOTICE;
  return undefined;
}

function endOrDelete({ line }: Editing): KeyRequest | undefined {
  if (line.text === '') return { kind: 'end' };
  KEY_EDITS.get('delete')?.(line);
  return undefined;
}

function startSearch(editing: Editing): undefined {
  updateSearch(editing, '', editing.entries().length);
}

function moveRow(editing: Editing, step: 1 | -1): undefined {
  const { line } = editing;
  const { caret, offsetAt } = editing.layout();
  const goal = editing.goal ?? caret.column;
  const offset = offsetAt({ row: caret.row + step, column: goal });
  if (offset === undefined) recallEntry(editing, step);
  else {
    line.move(() => offset);
    editing.goal = goal;
  }
}

function recallEntry(editing: Editing, step: 1 | -1): void {
  const { line, entries } = editing;
  const prefix = line.text.slice(0, line.caret);
  const found = stepHistory(entries(), editing.walk ?? { draft: line.text, prefix, place: entries().length }, step);
  if (found === undefined) return;
  line.replace(found.text);
  editing.walk = found.walk;
  editing.goal = undefined;
}

type KeyEdit = (line: LineBuffer) => void;

const moveWordLeft: KeyEdit = (line) => line.move(wordLeft);
const moveWordRight: KeyEdit = (line) => line.move(wordRight);
const killWordLeft: KeyEdit = (line) => line.kill(wordLeft);
const killWordRight: KeyEdit = (line) => line.kill(wordRight);
const moveToLineStart: KeyEdit = (line) => line.move(lineStart);
const moveToLineEnd: KeyEdit = (line) => line.move(lineEnd);
const deleteLeft: KeyEdit = (line) => line.delete(left);
const insertNewline: KeyEdit = (line) => line.insert('\n');

export const KEY_EDITS: ReadonlyMap<string, KeyEdit> = new Map<string, KeyEdit>([
  ['left', (line) => line.move(left)],
  ['ctrl-b', (line) => line.move(left)],
  ['right', (line) => line.move(right)],
  ['ctrl-f', (line) => line.move(right)],
  ['home', moveToLineStart],
  ['ctrl-a', moveToLineStart],
  ['end', moveToLineEnd],
  ['ctrl-e', moveToLineEnd],
  ['alt-b', moveWordLeft],
  ['ctrl-left', moveWordLeft],
  ['alt-left', moveWordLeft],
  ['alt-f', moveWordRight],
  ['ctrl-right', moveWordRight],
  ['alt-right', moveWordRight],
  ['alt-<', (line) => line.move(() => 0)],
  ['alt->', (line) => line.move((text) => text.length)],
  ['backspace', deleteLeft],
  ['shift-backspace', deleteLeft],
  ['ctrl-h', deleteLeft],
  ['delete', (line) => line.delete(right)],
  ['ctrl-d', (line) => line.delete(right)],
  ['ctrl-k', (line) => line.kill(killEnd)],
  ['ctrl-u', (line) => line.kill(killStart)],
  ['ctrl-w', (line) => line.kill(spaceLeft)],
  ['alt-backspace', killWordLeft],
  ['alt-ctrl-h', killWordLeft],
  ['ctrl-backspace', killWordLeft],
  ['alt-d', killWordRight],
  ['alt-delete', killWordRight],
  ['ctrl-delete', killWordRight],
  ['ctrl-y', (line) => line.yank()],
  ['alt-y', (line) => line.yankEarlier()],
  ['ctrl-t', (line) => line.transpose()],
  ['ctrl-_', (line) => line.undo()],
  ['ctrl-j', insertNewline],
  ['alt-enter', insertNewline],
  ['shift-enter', insertNewline],
  ['ctrl-enter', insertNewline],
]);
