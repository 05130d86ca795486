import { AppError } from '../core/error.ts';
import { lineEnding } from './text-file.ts';

export interface Edit {
  readonly oldText: string;
  readonly newText: string;
  /** Whether every place is meant, not just one. */
  readonly isMultiple: boolean;
}

export interface Edited {
  readonly text: string;
  /** In how many places. */
  readonly count: number;
  /** Whether the places were found only after white space was disregarded. */
  readonly isLoose: boolean;
}

/** A stretch of the text with plain line feeds, and what comes in its place. */
interface Match {
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
}

/**
 * Replaces one stretch of a text, found exactly or else without regard to white space; all of them if the edit says so.
 * The new text is taken literally. Line endings and all else outside the change stay as they are.
 * Throws AppError `usage` if there is no such stretch, or more than one.
 */
export function editText(text: string, { oldText, newText, isMultiple }: Edit): Edited {
  const plain = plainText(text);
  const wanted = unix(oldText);
  const next = unix(newText);
  if (wanted === next) {
    throw new AppError('usage', 'old_string and new_string are the same', { hint: 'There is nothing to change.' });
  }
  const exact = exactMatches(plain.text, wanted, next);
  const matches = exact.length > 0 ? exact : looseMatches(plain.text, wanted, next);
  if (matches.length === 0) throw notFound();
  if (matches.length > 1 && !isMultiple) throw ambiguous(matches.length);
  return { text: applied(text, plain, matches), count: matches.length, isLoose: exact.length === 0 };
}

function notFound(): AppError {
  return new AppError('usage', 'old_string was not found in the file', {
    hint: 'Read the file again and copy the lines to be replaced exactly, without line numbers.',
  });
}

function ambiguous(count: number): AppError {
  return new AppError('usage', `old_string was found ${count} times`, {
    hint: 'Add lines around it until there is one such place, or set allow_multiple to change them all.',
  });
}

interface PlainText {
  /** With line feeds only. */
  readonly text: string;
  /** Where in `text` a line feed stands for two characters, in order. */
  readonly pairs: readonly number[];
}

function unix(text: string): string {
  return text.replace(/\r\n?/g, '\n');
}

function plainText(text: string): PlainText {
  const pairs: number[] = [];
  for (const { index } of text.matchAll(/\r\n/g)) pairs.push(index - pairs.length);
  return { text: unix(text), pairs };
}

/** Where a place of the plain text is in the original. */
function originalPlace({ pairs }: PlainText, place: number): number {
  let low = 0;
  let high = pairs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((pairs[middle] ?? 0) < place) low = middle + 1;
    else high = middle;
  }
  return place + low;
}

function applied(text: string, plain: PlainText, matches: readonly Match[]): string {
  const usual = lineEnding(text);
  let result = '';
  let done = 0;
  for (const match of matches) {
    const { start, end, replacement } = trimmed(plain.text, match);
    const from = originalPlace(plain, start);
    const to = originalPlace(plain, end);
    const whole = text.slice(originalPlace(plain, match.start), originalPlace(plain, match.end));
    const ending = /\r\n|\r|\n/.exec(text.slice(from, to))?.[0] ?? /\r\n|\r|\n/.exec(whole)?.[0] ?? usual;
    result += text.slice(done, from) + replacement.replaceAll('\n', () => ending);
    done = to;
  }
  return result + text.slice(done);
}

/** Without what stays the same at both ends, so that the line endings there stay too. */
function trimmed(text: string, { start, end, replacement }: Match): Match {
  const room = Math.min(end - start, replacement.length);
  let head = 0;
  while (head < room && text[start + head] === replacement[head]) head += 1;
  let tail = 0;
  while (tail < room - head && text[end - 1 - tail] === replacement[replacement.length - 1 - tail]) tail += 1;
  return { start: start + head, end: end - tail, replacement: replacement.slice(head, replacement.length - tail) };
}

function exactMatches(text: string, wanted: string, replacement: string): readonly Match[] {
  return placesOf(text, wanted).map((start) => ({ start, end: start + wanted.length, replacement }));
}

function placesOf(text: string, wanted: string): readonly number[] {
  const places: number[] = [];
  if (wanted === '') return places;
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + wanted.length)) places.push(at);
  return places;
}

function looseMatches(text: string, wanted: string, next: string): readonly Match[] {
  if (wanted.trim() === '') return [];
  const byLines = lineMatches(text, wanted, next);
  return byLines.length > 0 ? byLines : runMatches(text, wanted, next);
}

/** Whole lines that differ only in the white space at their ends; the new lines take over the indentation found. */
function lineMatches(text: string, wanted: string, next: string): readonly Match[] {
  const hasEnd = wanted.endsWith('\n');
  const wantedLines = (hasEnd ? wanted.slice(0, -1) : wanted).split('\n').map((line) => line.trim());
  const lines = text.split('\n');
  const starts: number[] = [0];
  for (const line of lines) starts.push((starts.at(-1) ?? 0) + line.length + 1);
  const body = hasEnd && next.endsWith('\n') ? next.slice(0, -1) : next;
  const found: Match[] = [];
  for (const index of lineRuns(
    lines.map((line) => line.trim()),
    wantedLines,
  )) {
    const start = starts[index] ?? 0;
    const end = (starts[index + wantedLines.length] ?? 0) - 1;
    const indent = { from: indentOf(wanted), to: indentOf(text.slice(start, end)) };
    found.push({ start, end, replacement: reindented(body, indent) });
  }
  return found;
}

/** The indices at which some lines stand among others. As one text, so that the search is the system's own. */
function lineRuns(lines: readonly string[], wanted: readonly string[]): readonly number[] {
  const joined = `\n${lines.join('\n')}\n`;
  const runs: number[] = [];
  let line = 0;
  let counted = 0;
  for (const place of placesOfRun(joined, `\n${wanted.join('\n')}\n`)) {
    for (; counted < place; counted += 1) if (joined[counted] === '\n') line += 1;
    runs.push(line);
  }
  return runs;
}

/** The line feed at the end of one run may begin the next. */
function placesOfRun(text: string, wanted: string): readonly number[] {
  const places: number[] = [];
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + wanted.length - 1)) places.push(at);
  return places;
}

/** Stretches that differ only in how much white space stands between the words. */
function runMatches(text: string, wanted: string, next: string): readonly Match[] {
  const needle = wanted.trim().replace(/\s+/g, ' ');
  let squeezed = '';
  const origins: number[] = [];
  for (const { 0: piece, index } of text.matchAll(/\s+|\S+/g)) {
    const isGap = piece.trim() === '';
    squeezed += isGap ? ' ' : piece;
    for (let offset = 0; offset < (isGap ? 1 : piece.length); offset += 1) origins.push(index + offset);
  }
  return placesOf(squeezed, needle).map((place) => {
    const start = origins[place] ?? 0;
    const end = (origins[place + needle.length - 1] ?? 0) + 1;
    const line = text.slice(text.lastIndexOf('\n', start - 1) + 1);
    const indent = { from: indentOf(wanted), to: indentOf(line) };
    return { start, end, replacement: reindented(next.trim(), { ...indent, isInline: true }) };
  });
}

interface Indent {
  readonly from: string;
  readonly to: string;
  /** The first line begins after its indentation. */
  readonly isInline?: boolean;
}

function reindented(text: string, { from, to, isInline = false }: Indent): string {
  return text
    .split('\n')
    .map((line, index) => {
      if (line.trim() === '' || (isInline && index === 0)) return line;
      return line.startsWith(from) ? to + line.slice(from.length) : line;
    })
    .join('\n');
}

/** Of the first line that says something. */
function indentOf(text: string): string {
  return /^(?:[^\S\n]*\n)*([^\S\n]*)/.exec(text)?.[1] ?? '';
}
