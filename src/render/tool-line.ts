import type { TurnEvent } from '../core/event.ts';
import { type JsonObject, stringOf } from '../core/json.ts';
import { visible } from '../core/visible.ts';

/** What a tool did, on one line. */
export interface ToolLine {
  readonly isGood: boolean;
  readonly text: string;
}

/** The argument that says what a call is about, whichever of them it has. */
const SUBJECTS = ['file_path', 'path', 'command', 'pattern', 'query', 'dir_path', 'url', 'prompt'] as const;

const MAX_SUBJECT = 60;
const MAX_REASON = 100;

/** `edit_file hello.js +1 −1`; of a failure also the first line of its reason. Nothing in it can move the cursor. */
export function toolLine({ name, outcome }: Extract<TurnEvent, { type: 'answer' }>, args: JsonObject): ToolLine {
  const subject = SUBJECTS.map((key) => stringOf(args[key])).find((value) => value !== undefined);
  const opening = [name, subject === undefined ? '' : clipped(subject, MAX_SUBJECT)].filter((word) => word !== '');
  if (outcome.ok) return { isGood: true, text: visible([...opening, ...changed(args)].join(' ')) };
  const reason = stringOf(outcome.response.error) ?? 'it failed';
  return { isGood: false, text: visible(`${opening.join(' ')}: ${clipped(reason, MAX_REASON)}`) };
}

/** How many lines a change brought and took, as far as the arguments tell. */
function changed({ old_string: before, new_string: after, content }: JsonObject): readonly string[] {
  if (typeof content === 'string') return [`+${linesOf(content).length}`];
  if (typeof before !== 'string' || typeof after !== 'string') return [];
  const [old, fresh] = [linesOf(before), linesOf(after)];
  const shared = sharedLines(old, fresh);
  return [`+${fresh.length - shared}`, `−${old.length - shared}`];
}

/** Equal lines at the beginning and at the end. */
function sharedLines(left: readonly string[], right: readonly string[]): number {
  const most = Math.min(left.length, right.length);
  let start = 0;
  while (start < most && left[start] === right[start]) start += 1;
  let end = 0;
  while (end < most - start && left.at(-1 - end) === right.at(-1 - end)) end += 1;
  return start + end;
}

function linesOf(text: string): readonly string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}

function clipped(text: string, most: number): string {
  const [line = ''] = text.trim().split('\n');
  // What follows a whole sentence is not missed.
  const isWhole = line.length <= most && (line.endsWith('.') || line.length === text.trim().length);
  return isWhole ? line : `${line.slice(0, most - 1).toWellFormed()}…`;
}
