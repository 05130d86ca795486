import type { TurnEvent } from '../core/event.ts';
import { type JsonObject, toNonEmptyString } from '../core/json.ts';
import { plural } from '../core/text/format.ts';
import { sanitize } from '../core/text/terminal.ts';
import { textBefore } from '../core/text/trim.ts';
import type { ToolResult } from '../core/tool.ts';

export interface ToolLine {
  readonly isGood: boolean;
  readonly text: string;
}

/** The arguments that may say what a call is about; the first one present is shown. */
const SUBJECT_ARGUMENTS = ['file_path', 'path', 'command', 'pattern', 'query', 'dir_path', 'url', 'prompt'] as const;

const MAX_SUBJECT = 60;
const MAX_REASON = 100;
/** A notice stands alone, so it has room for the reason and what to do about it. */
const MAX_NOTICE_REASON = 300;

/** `edit_file hello.js +1 −1`; for a failure also the first line of its reason. Sanitized for the terminal. */
export function formatToolLine({ name, outcome }: Extract<TurnEvent, { type: 'answer' }>, args: JsonObject): ToolLine {
  const opening = formatCall(name, args);
  if (outcome.ok) return { isGood: true, text: `${opening}${formatCounts(outcome.change)}` };
  const reason = toNonEmptyString(outcome.response.error) ?? 'it failed';
  return { isGood: false, text: `${opening}: ${sanitize(clipLine(reason, MAX_REASON))}` };
}

/** `edit_file hello.js failed: there is no file hello.js`: the first line of the reason. Sanitized for the terminal. */
export function formatToolFailure(name: string, args: JsonObject, { response }: ToolResult): string {
  const reason = toNonEmptyString(response.error) ?? 'no reason was given';
  return `${formatCall(name, args)} failed: ${sanitize(clipLine(reason, MAX_NOTICE_REASON))}`;
}

export function formatCall(name: string, args: JsonObject): string {
  const subject = SUBJECT_ARGUMENTS.map((key) => toNonEmptyString(args[key])).find((value) => value !== undefined);
  const words = [name, subject === undefined ? '' : clipLine(subject, MAX_SUBJECT)];
  return sanitize(words.filter((word) => word !== '').join(' '));
}

function formatCounts(change: ToolResult['change']): string {
  if (change === undefined) return '';
  const { added, removed, cutLinks = 0 } = change;
  const cut = cutLinks === 0 ? '' : ` (${plural(cutLinks, 'hard link')} left with the old content)`;
  return ` +${added} −${removed}${cut}`;
}

function clipLine(text: string, most: number): string {
  const trimmed = text.trim();
  const line = textBefore(trimmed, '\n');
  // No ellipsis after a complete sentence.
  const isWhole = line.length <= most && (line.endsWith('.') || line.length === trimmed.length);
  return isWhole ? line : `${line.slice(0, most - 1).toWellFormed()}…`;
}
