import { EDITS } from './bindings.ts';
import { isOpenBlock, withoutMarks } from './block.ts';
import { FOLD } from './folds.ts';
import { walked } from './recall.ts';
import { find } from './search-mode.ts';
import type { Editing } from './state.ts';

/** What a key asks of the world outside the line. */
export type Request =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'end' }
  | { readonly kind: 'leave' }
  | { readonly kind: 'next-mode' }
  | { readonly kind: 'complete' }
  | { readonly kind: 'edit' }
  | { readonly kind: 'suspend' }
  | { readonly kind: 'clear-screen' };

type Command = (editing: Editing, now: number) => Request | undefined;

const LEAVE_WITHIN_MS = 2000;
const CLEARED = 'Cleared. Ctrl+_ brings it back, Ctrl+C again leaves.';

const up: Command = (editing) => moveRow(editing, -1);
const down: Command = (editing) => moveRow(editing, 1);

/** What the keys do that reach beyond the line: to its rows, to earlier entries, to the world. */
export const COMMANDS: ReadonlyMap<string, Command> = new Map<string, Command>([
  ['enter', send],
  ['tab', tab],
  ['shift-tab', () => ({ kind: 'next-mode' })],
  ['ctrl-c', interrupt],
  ['ctrl-d', endOrDelete],
  ['ctrl-g', () => ({ kind: 'edit' })],
  ['ctrl-l', () => ({ kind: 'clear-screen' })],
  ['ctrl-z', () => ({ kind: 'suspend' })],
  ['ctrl-r', startSearch],
  ['up', up],
  ['ctrl-p', up],
  ['down', down],
  ['ctrl-n', down],
]);

/** Whether a key goes on with a walk from row to row and entry to entry. */
export function isRowKey(name: string): boolean {
  return COMMANDS.get(name) === up || COMMANDS.get(name) === down;
}

function send({ line, pastes }: Editing): Request | undefined {
  const isContinued = /(?<!\\)(?:\\\\)*\\$/.test(line.text.slice(0, line.caret));
  if (isContinued) line.delete((_, at) => at - 1);
  else if (isOpenBlock(line.text)) line.move((text) => text.length);
  else {
    const text = withoutMarks(pastes.unfold(line.text));
    return text.trim() === '' ? undefined : { kind: 'text', text };
  }
  line.insert('\n');
  return undefined;
}

/** Behind a large paste it shows that; elsewhere it completes. */
function tab({ line, pastes }: Editing): Request | undefined {
  const before = line.text[line.caret - 1] ?? '';
  if (!FOLD.test(before)) return { kind: 'complete' };
  const start = line.text.slice(0, line.caret - 1) + pastes.unfold(before);
  line.replace(start + line.text.slice(line.caret), start.length);
  return undefined;
}

function interrupt(editing: Editing, now: number): Request | undefined {
  const isSecond = now - editing.interruptedAt < LEAVE_WITHIN_MS;
  editing.interruptedAt = now;
  if (editing.line.text === '' || isSecond) return { kind: 'leave' };
  editing.cleared = editing.line.text;
  editing.line.replace('');
  editing.note = CLEARED;
  return undefined;
}

function endOrDelete({ line }: Editing): Request | undefined {
  if (line.text === '') return { kind: 'end' };
  EDITS.get('delete')?.(line);
  return undefined;
}

function startSearch(editing: Editing): undefined {
  find(editing, '', editing.entries().length);
}

/** Within the text first; beyond its first and last row lie the entries from before. */
function moveRow(editing: Editing, step: 1 | -1): undefined {
  const { line } = editing;
  const { caret, offsetAt } = editing.layout();
  const goal = editing.goal ?? caret.column;
  const offset = offsetAt({ row: caret.row + step, column: goal });
  if (offset === undefined) recall(editing, step);
  else {
    line.move(() => offset);
    editing.goal = goal;
  }
}

function recall(editing: Editing, step: 1 | -1): void {
  const { line, entries } = editing;
  const prefix = line.text.slice(0, line.caret);
  const found = walked(entries(), editing.walk ?? { draft: line.text, prefix, place: entries().length }, step);
  if (found === undefined) return;
  line.replace(found.text);
  editing.walk = found.walk;
  editing.goal = undefined;
}
