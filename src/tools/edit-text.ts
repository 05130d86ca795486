import { AppError } from '../core/error.ts';
import { findLineEnding } from '../core/text/text-file.ts';
import { yieldToEvents } from '../platform/runtime/clock.ts';
import { findIndent, keepGaps, keepLineForms, MAX_CELLS, matchPieces } from './edit-match.ts';

export interface Edit {
  readonly oldText: string;
  readonly newText: string;
  readonly isMultiple: boolean;
}

export interface EditResult {
  readonly text: string;
  readonly count: number;
  readonly isLoose: boolean;
}

/** Larger files are not searched ignoring white space: that takes far more time and memory than the text itself. */
const MAX_LOOSE = 262_144;
const MAX_PLACES = 10_000;
/** Characters of the new text in all places together; equals the largest file tools write. */
const MAX_NEW_TEXT = 20_000_000;

interface Match {
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
}

/**
 * Replaces one occurrence, or all if the edit says so, found exactly or else ignoring white space. The new text is
 * literal. Line endings and everything outside the change stay as they are. Throws AppError `usage` if there is no
 * match, more than one, or the result would be too large.
 */
export function editText(text: string, edit: Edit): EditResult {
  const plain = toPlainText(text);
  const { matches, isLoose } = findMatches(plain.text, edit);
  return { text: applyMatches(text, plain, matches), count: matches.length, isLoose };
}

/**
 * Makes several edits at once: each is found in the text as it is now, as `editText` finds it, so none sees what
 * another has put in. Throws AppError `usage` if one is not found, or found too often, or two of them overlap, and the signal's reason.
 */
export async function editTogether(text: string, edits: readonly Edit[], signal: AbortSignal) {
  const plain = toPlainText(text);
  const counts: number[] = [];
  const found: (Match & { readonly edit: number })[] = [];
  let isLoose = false;
  let newLength = 0;
  for (const [index, edit] of edits.entries()) {
    await yieldToEvents(signal);
    const own = nameFailure(index + 1, edits.length, () => findMatches(plain.text, edit));
    newLength += own.matches.reduce((sum, { replacement }) => sum + replacement.length, 0);
    if (newLength > MAX_NEW_TEXT) throw tooLargeFileError();
    isLoose ||= own.isLoose;
    counts.push(own.matches.length);
    for (const match of own.matches) found.push({ ...match, edit: index + 1 });
  }
  const matches = found.sort((left, right) => left.start - right.start);
  checkOverlap(matches);
  return { text: applyMatches(text, plain, matches), count: matches.length, isLoose, counts };
}

function nameFailure<Result>(number: number, count: number, find: () => Result): Result {
  try {
    return find();
  } catch (thrown) {
    if (!(thrown instanceof AppError)) throw thrown;
    throw thrown.with({ message: `edit ${number} of ${count}: ${thrown.message}; none of them was made` });
  }
}

function checkOverlap(matches: readonly (Match & { readonly edit: number })[]): void {
  for (const [index, next] of matches.entries()) {
    const last = matches[index - 1];
    if (last === undefined || last.end <= next.start) continue;
    const [first, second] = [last.edit, next.edit].sort((left, right) => left - right);
    throw new AppError('usage', `edits ${first} and ${second} overlap; none of them was made`, {
      hint: 'Make one edit of the two, or leave out the lines that both of them have in old_string.',
    });
  }
}

function findMatches(
  text: string,
  { oldText, newText, isMultiple }: Edit,
): { readonly matches: readonly Match[]; readonly isLoose: boolean } {
  const wanted = toLineFeeds(oldText);
  const next = toLineFeeds(newText);
  if (wanted === next) {
    throw new AppError('usage', 'old_string and new_string are the same', { hint: 'There is nothing to change.' });
  }
  const exact = checkSize(findAll(text, wanted), next).map((start) => ({
    start,
    end: start + wanted.length,
    replacement: next,
  }));
  const canBeLoose = text.length <= MAX_LOOSE;
  const matches = exact.length > 0 || !canBeLoose ? exact : findLoose(text, wanted, next);
  if (matches.length === 0) {
    const strictly = canBeLoose ? '' : '; in a file of this size white space counts, too';
    throw new AppError('usage', `old_string was not found in the file${strictly}`, {
      hint: 'Read the file again and copy the lines to be replaced exactly, without line numbers.',
    });
  }
  if (matches.length > 1 && !isMultiple) {
    throw new AppError('usage', `old_string was found ${matches.length} times`, {
      hint: 'Add lines around it until there is one such place, or set allow_multiple to change them all.',
    });
  }
  return { matches, isLoose: exact.length === 0 };
}

/** Checked before any replacement is built: the text may be long and the places many. */
function checkSize(places: readonly number[], replacement: string): readonly number[] {
  if (places.length * replacement.length > MAX_NEW_TEXT) throw tooLargeFileError();
  return places;
}

function tooLargeFileError(): AppError {
  return new AppError('usage', 'the file would be larger than 20 MB', {
    hint: 'Change fewer places at once, or tell the user how to change all of them.',
  });
}

interface PlainText {
  /** With line feeds only. */
  readonly text: string;
  /** Offsets in `text` of the line feeds that were CRLF, in order. */
  readonly pairs: readonly number[];
}

function toLineFeeds(text: string): string {
  return text.replace(/\r\n?/g, '\n');
}

function toPlainText(text: string): PlainText {
  const pairs: number[] = [];
  for (const { index } of text.matchAll(/\r\n/g)) pairs.push(index - pairs.length);
  return { text: toLineFeeds(text), pairs };
}

function toOriginalOffset({ pairs }: PlainText, place: number): number {
  let low = 0;
  let high = pairs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((pairs[middle] ?? 0) < place) low = middle + 1;
    else high = middle;
  }
  return place + low;
}

function applyMatches(text: string, plain: PlainText, matches: readonly Match[]): string {
  const usual = findLineEnding(text);
  const isMixed = /[\r\n]/.test(text.replaceAll(usual, ''));
  const align = createAligner();
  let result = '';
  let done = 0;
  for (const match of matches) {
    const { start, end, replacement } = trimMatch(plain.text, match);
    const from = toOriginalOffset(plain, start);
    const to = toOriginalOffset(plain, end);
    if (!isMixed) {
      result += text.slice(done, from) + replacement.replaceAll('\n', () => usual);
      done = to;
      continue;
    }
    const whole = text.slice(toOriginalOffset(plain, match.start), toOriginalOffset(plain, match.end));
    const ending = /\r\n|\r|\n/.exec(text.slice(from, to))?.[0] ?? /\r\n|\r|\n/.exec(whole)?.[0] ?? usual;
    const keepPiece = (piece: Range): string =>
      text.slice(toOriginalOffset(plain, start + piece.start), toOriginalOffset(plain, start + piece.end));
    result +=
      text.slice(done, from) + restoreEndings(plain.text.slice(start, end), replacement, { ending, keepPiece, align });
    done = to;
  }
  return result + text.slice(done);
}

interface Range {
  readonly start: number;
  readonly end: number;
}

function restoreEndings(
  old: string,
  next: string,
  {
    ending,
    keepPiece,
    align,
  }: {
    readonly ending: string;
    readonly keepPiece: (line: Range) => string;
    readonly align: typeof matchPieces;
  },
): string {
  const oldLines = old.split(/(?<=\n)/);
  const lines = next.split(/(?<=\n)/);
  const starts: number[] = [0];
  for (const line of oldLines) starts.push((starts.at(-1) ?? 0) + line.length);
  const same = align(oldLines, lines);
  return lines
    .map((line, index) => {
      const at = same[index];
      if (at === undefined) return line.replace('\n', () => ending);
      return keepPiece({ start: starts[at] ?? 0, end: starts[at + 1] ?? 0 });
    })
    .join('');
}

/** Caches the last comparison: the same lines are often found in many places. The limit is one for all of them. */
function createAligner(): typeof matchPieces {
  let last: { readonly key: string; readonly same: ReturnType<typeof matchPieces> } | undefined;
  let room = MAX_CELLS;
  return (old, next) => {
    const key = JSON.stringify([old, next]);
    if (last?.key === key) return last.same;
    last = { key, same: matchPieces(old, next, room) };
    room = Math.max(0, room - old.length * next.length);
    return last.same;
  };
}

/** Drops the unchanged start and end of a match, so that their line endings stay too. */
function trimMatch(text: string, { start, end, replacement }: Match): Match {
  const room = Math.min(end - start, replacement.length);
  let head = 0;
  while (head < room && text[start + head] === replacement[head]) head += 1;
  let tail = 0;
  while (tail < room - head && text[end - 1 - tail] === replacement[replacement.length - 1 - tail]) tail += 1;
  return { start: start + head, end: end - tail, replacement: replacement.slice(head, replacement.length - tail) };
}

/** Offsets of a text; matches may overlap by `shared` characters. */
function findAll(text: string, wanted: string, shared = 0): readonly number[] {
  const places: number[] = [];
  if (wanted === '') return places;
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + wanted.length - shared)) {
    if (places.length === MAX_PLACES) {
      throw new AppError('usage', `old_string was found more than ${MAX_PLACES} times`, {
        hint: 'Add lines around it, or tell the user how to change all of them.',
      });
    }
    places.push(at);
  }
  return places;
}

function findLoose(text: string, wanted: string, next: string): readonly Match[] {
  if (wanted.trim() === '') return [];
  const byLines = findByLines(text, wanted, next);
  return byLines.length > 0 ? byLines : findByWords(text, wanted, next);
}

function findByLines(text: string, wanted: string, next: string): readonly Match[] {
  const hasEnd = wanted.endsWith('\n');
  const wantedLines = (hasEnd ? wanted.slice(0, -1) : wanted).split('\n');
  const lines = text.split('\n');
  const starts: number[] = [0];
  for (const line of lines) starts.push((starts.at(-1) ?? 0) + line.length + 1);
  const trimAll = (list: readonly string[]): readonly string[] => list.map((line) => line.trim());
  const body = hasEnd && next.endsWith('\n') ? next.slice(0, -1) : next;
  const adapt = keepLineForms(body.split('\n'), wantedLines);
  return checkSize(findLineRuns(trimAll(lines), trimAll(wantedLines)), next).map((index) => {
    const start = starts[index] ?? 0;
    const end = (starts[index + wantedLines.length] ?? 0) - 1;
    const found = lines.slice(index, index + wantedLines.length);
    // Deleted lines take their line feed with them, if there is one.
    if (hasEnd && next === '') return { start, end: Math.min(end + 1, text.length), replacement: '' };
    const isJoined = hasEnd && body === next && end < text.length;
    return { start, end: isJoined ? end + 1 : end, replacement: adapt(found).join('\n') };
  });
}

/** The indices at which a run of lines begins. Searched as one joined text, because indexOf is fast. */
function findLineRuns(lines: readonly string[], wanted: readonly string[]): readonly number[] {
  const joined = `\n${lines.join('\n')}\n`;
  const runs: number[] = [];
  let line = 0;
  let counted = 0;
  // The line feed at the end of one run may begin the next.
  for (const place of findAll(joined, `\n${wanted.join('\n')}\n`, 1)) {
    for (; counted < place; counted += 1) if (joined[counted] === '\n') line += 1;
    runs.push(line);
  }
  return runs;
}

function findByWords(text: string, wanted: string, next: string): readonly Match[] {
  const trimmed = wanted.trim();
  const needle = trimmed.replace(/\s+/g, ' ');
  const toOrigin = createOriginFinder(text);
  const body = trimEnds(next, wanted);
  const places = checkSize(findAll(text.replace(/\s+/g, ' '), needle), body);
  if (places.length === 0) return [];
  const adapt = keepGaps(splitAtSpaces(body), splitAtSpaces(trimmed));
  const from = findIndent(wanted.replace(/^\s*\n/, ''));
  let line = 0;
  return places.map((place) => {
    const start = toOrigin(place);
    const end = toOrigin(place + needle.length - 1) + 1;
    // From the last line on: looking back to the start of the text would take long for each place of a long line.
    line += text.slice(line, start).lastIndexOf('\n') + 1;
    const indent = { from, to: findIndent(text.slice(line, end)) };
    return { start, end, replacement: adapt(splitAtSpaces(text.slice(start, end)), indent).join('') };
  });
}

/** Finds offsets of the text with its gaps squeezed in the text itself; they must be asked for in order. */
function createOriginFinder(text: string): (place: number) => number {
  const gaps = text.matchAll(/\s{2,}/g);
  let gap = gaps.next();
  let removed = 0;
  return (place) => {
    for (; !gap.done && gap.value.index - removed < place; gap = gaps.next()) removed += gap.value[0].length - 1;
    return place + removed;
  };
}

/** Removes the leading and trailing white space of the wanted text from the new text too: the match has none there. */
function trimEnds(next: string, wanted: string): string {
  const head = wanted.slice(0, wanted.length - wanted.trimStart().length);
  const tail = wanted.slice(wanted.trimEnd().length);
  const start = next.startsWith(head) ? next.slice(head.length) : next.trimStart();
  return start.endsWith(tail) ? start.slice(0, start.length - tail.length) : start.trimEnd();
}

function splitAtSpaces(text: string): readonly string[] {
  return text.match(/\s+|\S+/g) ?? [];
}
