import type { TurnEvent } from '../core/event.ts';
import { type JsonObject, stringOf } from '../core/json.ts';
import { counted } from '../core/text/format.ts';
import { visible } from '../core/text/terminal.ts';
import { textBefore } from '../core/text/trim.ts';
import type { ToolOutcome } from '../core/tool.ts';

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
  const opening = formatCall(name, args);
  if (outcome.ok) return { isGood: true, text: `${opening}${formatCounts(outcome.change)}` };
  const reason = stringOf(outcome.response.error) ?? 'it failed';
  return { isGood: false, text: `${opening}: ${visible(clipped(reason, MAX_REASON))}` };
}

/** `edit_file hello.js`: what a call is about, on one line that cannot move the cursor. */
export function formatCall(name: string, args: JsonObject): string {
  const subject = SUBJECTS.map((key) => stringOf(args[key])).find((value) => value !== undefined);
  const words = [name, subject === undefined ? '' : clipped(subject, MAX_SUBJECT)];
  return visible(words.filter((word) => word !== '').join(' '));
}

function formatCounts(change: ToolOutcome['change']): string {
  if (change === undefined) return '';
  const { added, removed, cutLinks = 0 } = change;
  const cut = cutLinks === 0 ? '' : ` (${counted(cutLinks, 'hard link')} left with the old content)`;
  return ` +${added} −${removed}${cut}`;
}

function clipped(text: string, most: number): string {
  const trimmed = text.trim();
  const line = textBefore(trimmed, '\n');
  // What follows a whole sentence is not missed.
  const isWhole = line.length <= most && (line.endsWith('.') || line.length === trimmed.length);
  return isWhole ? line : `${line.slice(0, most - 1).toWellFormed()}…`;
}
