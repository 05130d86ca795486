import type { Buffer } from './buffer.ts';
import { killEnd, killStart, left, lineEnd, lineStart, right, spaceLeft, wordLeft, wordRight } from './motions.ts';

type Edit = (line: Buffer) => void;

const toWordLeft: Edit = (line) => line.move(wordLeft);
const toWordRight: Edit = (line) => line.move(wordRight);
const killWordLeft: Edit = (line) => line.kill(wordLeft);
const killWordRight: Edit = (line) => line.kill(wordRight);
const toLineStart: Edit = (line) => line.move(lineStart);
const toLineEnd: Edit = (line) => line.move(lineEnd);
const deleteLeft: Edit = (line) => line.delete(left);
const newline: Edit = (line) => line.insert('\n');

/** What the keys do that only change the line. */
export const EDITS: ReadonlyMap<string, Edit> = new Map<string, Edit>([
  ['left', (line) => line.move(left)],
  ['ctrl-b', (line) => line.move(left)],
  ['right', (line) => line.move(right)],
  ['ctrl-f', (line) => line.move(right)],
  ['home', toLineStart],
  ['ctrl-a', toLineStart],
  ['end', toLineEnd],
  ['ctrl-e', toLineEnd],
  ['alt-b', toWordLeft],
  ['ctrl-left', toWordLeft],
  ['alt-left', toWordLeft],
  ['alt-f', toWordRight],
  ['ctrl-right', toWordRight],
  ['alt-right', toWordRight],
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
  ['ctrl-j', newline],
  ['alt-enter', newline],
  ['shift-enter', newline],
  ['ctrl-enter', newline],
]);
