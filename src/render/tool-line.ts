import type { TurnEvent } from '../core/event.ts';
import { type JsonObject, toNonEmptyString } from '../core/json.ts';
import { formatDuration, joinFirst, plural } from '../core/text/format.ts';
import { sanitize } from '../core/text/terminal.ts';
import { takeBefore } from '../core/text/trim.ts';
import type { CommandExit, Todo, ToolCall, ToolResult } from '../core/tool.ts';
import { clipText } from './spinner.ts';

export interface ToolLine {
  readonly isGood: boolean;
  readonly text: string;
  /** Rows below it, each without a line break. Sanitized for the terminal. */
  readonly rows?: readonly string[];
  /** Of a change that nobody was asked about. Untrusted text. */
  readonly diff?: string;
}

const SUBJECT_ARGUMENTS = ['file_path', 'path', 'command', 'pattern', 'query', 'dir_path', 'url', 'prompt'] as const;

const MAX_SUBJECT = 60;
const MAX_REASON = 100;
/** A notice stands alone, so it has room for the reason and what to do about it. */
const MAX_NOTICE_REASON = 300;

/**
 * `edit_file hello.js +1 −1`, `read_file a.txt · 214 lines`, `run_shell_command make · exit 2 · 14 lines · 3.1s`; for a
 * failure the first line of its reason. Sanitized for the terminal.
 */
export function formatToolLine(
  { name, outcome, elapsedMs }: Extract<TurnEvent, { type: 'answer' }>,
  args: JsonObject,
): ToolLine {
  const { ok, response, summary = '', exit, change, todos } = outcome;
  const hasFailed = exit !== undefined && exit.code !== 0;
  const time = formatElapsed(elapsedMs, exit !== undefined);
  const opening = formatCall(name, args);
  if (!ok) {
    const reason = toNonEmptyString(response.error) ?? (summary || 'it failed');
    return { isGood: false, text: joinParts([`${opening}: ${clipReason(reason, args, MAX_REASON)}`, time]) };
  }
  const parts = [`${opening}${formatCounts(change)}`, hasFailed ? formatExit(exit) : '', sanitize(summary), time];
  return {
    isGood: !hasFailed,
    text: joinParts(parts),
    diff: change?.diff,
    rows: todos?.map(({ description, status }) => `  ${TODO_MARKS[status]} ${clipProse(description, MAX_TODO)}`),
  };
}

const TODO_MARKS: Readonly<Record<Todo['status'], string>> = {
  pending: '[ ]',
  in_progress: '[>]',
  completed: '[x]',
  cancelled: '[-]',
};

const MAX_TODO = 200;

/** `verify npm test · exit 1 · 3.2s`. Sanitized for the terminal. */
export function formatVerifyLine({ command, exit, elapsedMs }: Extract<TurnEvent, { type: 'verify' }>): ToolLine {
  const isGood = exit.code === 0;
  const opening = formatCall('verify', { command });
  return { isGood, text: joinParts([opening, isGood ? '' : formatExit(exit), formatElapsed(elapsedMs, true)]) };
}

function joinParts(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join(' · ');
}

function formatExit({ code, signal }: CommandExit): string {
  return signal === null ? `exit ${code}` : `ended by ${signal}`;
}

/** Calls that took less are not worth a time, unless it is a command. */
const MIN_TIMED_MS = 1000;

/** `0.4s`, `12.0s`, `2 min 5 s`; empty if it would say nothing. */
function formatElapsed(elapsedMs: number | undefined, isCommand: boolean): string {
  if (elapsedMs === undefined || (elapsedMs < MIN_TIMED_MS && !isCommand)) return '';
  return elapsedMs < 60_000 ? `${(elapsedMs / 1000).toFixed(1)}s` : formatDuration(elapsedMs);
}

/** What is running: `read_file a.txt`, or `read_file a.txt, glob *.ts and 3 more`. Sanitized for the terminal. */
export function formatRunningCalls(calls: readonly Pick<ToolCall, 'name' | 'args'>[]): string {
  return joinFirst(calls, MAX_RUNNING, ({ name, args }) => formatCall(name, args));
}

const MAX_RUNNING = 2;

const FOLDED_LINES = 4;

/**
 * The last lines of a command's output, and how many are above them. Undefined for other tools: their results are not
 * for reading along.
 */
export function foldOutput({ response, exit, wholeOutput }: ToolResult): FoldedOutput | undefined {
  return exit === undefined ? undefined : foldLines(wholeOutput ?? toNonEmptyString(response.output) ?? '');
}

export function foldLines(output: string): FoldedOutput | undefined {
  if (output.trim() === '') return undefined;
  const lines = output.trimEnd().split('\n');
  // One line that says `1 more line` would take as much room as that line.
  const isLong = lines.length > FOLDED_LINES + 1;
  return isLong ? { lines: lines.slice(-FOLDED_LINES), hidden: lines.length - FOLDED_LINES } : { lines, hidden: 0 };
}

export interface FoldedOutput {
  /** Untrusted text. */
  readonly lines: readonly string[];
  readonly hidden: number;
}

/** `edit_file hello.js: there is no such file`: the first line of the reason. Sanitized for the terminal. */
export function formatToolFailure(name: string, args: JsonObject, { response }: ToolResult): string {
  const reason = toNonEmptyString(response.error) ?? 'it failed';
  return `${formatCall(name, args)}: ${clipReason(reason, args, MAX_NOTICE_REASON)}`;
}

/** Without the subject in front of it, which the line has already. */
function clipReason(reason: string, args: JsonObject, most: number): string {
  const subject = `${findCallSubject(args)}: `;
  return clipProse(reason.startsWith(subject) ? reason.slice(subject.length) : reason, most);
}

function findCallSubject(args: JsonObject): string | undefined {
  return SUBJECT_ARGUMENTS.map((key) => toNonEmptyString(args[key])).find((value) => value !== undefined);
}

export function formatCall(name: string, args: JsonObject): string {
  const subject = findCallSubject(args);
  const words = [name, subject === undefined ? '' : clipText(clipLine(subject, MAX_SUBJECT), MAX_SUBJECT)];
  return sanitize(words.filter((word) => word !== '').join(' '));
}

function formatCounts(change: ToolResult['change']): string {
  if (change === undefined) return '';
  const { added, removed, cutLinks = 0 } = change;
  const cut = cutLinks === 0 ? '' : ` (${plural(cutLinks, 'hard link')} left with the old content)`;
  return ` +${added} −${removed}${cut}`;
}

/** The first line, cut between words, without an ellipsis after a sentence. Sanitized for the terminal. */
function clipProse(text: string, most: number): string {
  return sanitize(clipLine(text, most, findWordEnd)).replace(/(?<=[.。])…$/, '');
}

type FindEnd = (line: string, limit: number) => number;

function clipLine(text: string, most: number, findEnd: FindEnd = (_, limit) => limit): string {
  const trimmed = text.trim();
  const line = takeBefore(trimmed, '\n');
  // No ellipsis after a complete sentence.
  const isWhole = line.length <= most && (line.endsWith('.') || line.length === trimmed.length);
  if (isWhole) return line;
  const end = line.length < most ? line.length : findEnd(line, most - 1);
  return `${line.slice(0, end).trimEnd().toWellFormed()}…`;
}

/** A word that is longer, such as a path, is cut inside. */
const MAX_CUT_WORD = 20;

/** Where the last word ends, at `limit` or a little before it; else where the last character does. */
function findWordEnd(line: string, limit: number): number {
  const places = Array.from({ length: MAX_CUT_WORD }, (_, index) => limit - index);
  const ends = places.filter((place) => !/^[\p{M}\p{Cs}]/u.test(line.slice(place, place + 2)));
  return ends.find((end) => isBetweenWords(line.slice(end - 2, end), line.slice(end, end + 2))) ?? ends[0] ?? limit;
}

/** Japanese and Chinese have no spaces between words: a line may end before and after any of their characters. */
function isBetweenWords(before: string, after: string): boolean {
  return (
    /[\s\p{scx=Han}\p{scx=Hira}\p{scx=Kana}]$/u.test(before) || /^[\s\p{scx=Han}\p{scx=Hira}\p{scx=Kana}]/u.test(after)
  );
}
