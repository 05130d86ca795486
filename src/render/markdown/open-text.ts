import { countMatches, takeBefore } from '../../core/text/trim.ts';
import { measureWidth } from '../../core/text/width.ts';
import { estimateCost, findFence, findListMarker, isHeading, isRule, isUnderline, measureIndent } from './lexer.ts';
import type { OpenText } from './segments.ts';
import { stripPaint } from './theme.ts';

export function countRows(lines: readonly string[], columns: number): number {
  return lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(measureWidth(stripPaint(line)) / columns)), 0);
}

/** In characters: longer text is not looked at for every piece that comes. */
const MAX_PREVIEW_LENGTH = 8192;
/** About 5 ms: it is laid out for every piece of text that comes. */
const MAX_PREVIEW_COST = 150_000;

export function canPreview(text: string): boolean {
  return text.length <= MAX_PREVIEW_LENGTH && estimateCost(text) <= MAX_PREVIEW_COST;
}

/** A line that has only begun: it may become an item, a rule or a table, but now it would make a heading of all above. */
const UNDERLINE_SO_FAR = /^[ \t]*[-=]+[ \t]*$/;

/** Such a line may begin code, which is a block of its own. */
const FENCE_SO_FAR = /^[ \t]*(?:`{1,2}$|~{1,2}$|`{3,}[^`]*$|~~~)/;

/** A star that is followed by a second one more often than by a blank. */
const OPENING_SO_FAR = /[ \t]\*$/;

/**
 * The text with its last mark closed, so that the words after it have their style while they come, and without a last
 * line that is only the beginning of a mark.
 */
export function closeMarks({ text: all, kind }: OpenText): string {
  const text = isMarkSoFar(all) ? all.slice(0, all.lastIndexOf('\n') + 1) : all;
  const last = text.slice(findLastStart(text, kind));
  if (FENCE.test(last)) return text;
  if (OPENING_SO_FAR.test(text)) return text.slice(0, -1);
  const end = text.trimEnd();
  if (hasOdd(last, /`/g)) return end.endsWith('`') ? end.slice(0, -1) : `${end}\``;
  if (!hasOdd(last.replace(/`[^`]*`/g, ''), STARS)) return text;
  if (end.endsWith('**')) return end.slice(0, -2);
  return end.endsWith('*') ? `${end}*` : `${end}**`;
}

function isMarkSoFar(text: string): boolean {
  const lastLine = text.lastIndexOf('\n') + 1;
  const line = text.slice(lastLine);
  return FENCE_SO_FAR.test(line) || (lastLine > 0 && UNDERLINE_SO_FAR.test(line));
}

/** The marks that `closeMarks` would close, or a link's that is whole, if the text ended here. */
export function findOpenMarks({ text: all, kind }: OpenText, length: number): string {
  const text = all.slice(0, length);
  const rest = all.slice(length);
  const last = text.slice(findLastStart(text, kind));
  if (FENCE.test(last)) return '';
  if (hasOdd(last, /`/g)) return '`';
  const prose = last.replace(/`[^`]*`/g, '');
  const inLabel = prose.lastIndexOf('[') > prose.lastIndexOf(']') && /^[^[\]]*\]\([^()]*\)/.test(rest);
  return (hasOdd(prose, STARS) ? '**' : '') + (inLabel ? '[' : '');
}

const FENCE = /```|~~~/;
/** Not those with a blank on both sides, as in `2 ** 3`. */
const STARS = /(?<!\s)\*\*|\*\*(?!\s)/g;

function hasOdd(text: string, mark: RegExp): boolean {
  return countMatches(text, mark) % 2 === 1;
}

/** How much at the end of the text `closeMarks` does not show. */
function countHidden({ text, kind }: OpenText): number {
  if (isMarkSoFar(text)) return text.length - text.lastIndexOf('\n') - 1;
  const last = text.slice(findLastStart(text, kind));
  if (FENCE.test(last)) return 0;
  const isClosing = /[^*]\*$/.test(text) && hasOdd(last, STARS);
  return isClosing || OPENING_SO_FAR.test(text) ? 1 : 0;
}

/** Where the last paragraph or cell of the text begins: marks reach no further. */
function findLastStart(text: string, kind: OpenText['kind']): number {
  return kind === 'table' ? text.lastIndexOf('|') + 1 : findParagraphStart(text);
}

function findParagraphStart(text: string): number {
  let start = 0;
  for (const { index } of text.matchAll(/\n[ \t]*(?=\n)|\n[ \t]*(?=(?:[-*+]|\d{1,9}[.)])[ \t])/g)) start = index;
  return start;
}

const MAX_TRIES = 8;

/**
 * Where to cut text that has become too tall for the window: the part before is complete then. Between two of the
 * lines it was laid out in, if there is such a place, so that nothing moves. 0 if it cannot be cut.
 */
export function findCut(open: OpenText, lines: readonly string[], layOut: (text: string) => readonly string[]): number {
  const { text, kind } = open;
  const lastLine = text.lastIndexOf('\n') + 1;
  if (kind === 'table') return countMatches(text.slice(0, lastLine), /\n/g) > 2 ? lastLine : 0;
  if (kind === 'list' && lastLine > 0) return findItem(text);
  const shown = lines.map(stripPaint);
  const best = Math.max(1, Math.floor(shown.length / 2));
  const ends = findLineEnds(text, shown.slice(0, best));
  const tries = canPreview(text) ? MAX_TRIES : 0;
  for (let count = best; count > Math.max(0, best - tries); count -= 1) {
    const end = ends[count - 1];
    if (end === undefined || !isBetweenBlocks(text, end)) continue;
    const above = layOut(text.slice(0, end)).map(stripPaint);
    if (above.length === count && above.every((line, index) => line === shown[index])) return end;
  }
  return lastLine || findSpace(text, ends[best - 1] ?? Math.floor(text.length / 2));
}

/**
 * How much of the text is shown by the first `count` of its lines; all of it, with all lines, if it cannot be cut there.
 */
export function findShownEnd(
  open: OpenText,
  lines: readonly string[],
  count: number,
  layOut: (text: string) => readonly string[],
): { readonly length: number; readonly count: number } {
  const { text, kind } = open;
  const shown = lines.map(stripPaint);
  const all = { length: text.length - countHidden(open), count: lines.length };
  if (kind === 'code' || !canPreview(text)) return all;
  const end = kind === 'table' ? findCut(open, lines, layOut) : (findLineEnds(text, shown.slice(0, count)).at(-1) ?? 0);
  const length = Math.min(end, all.length);
  const above = layOut(closeMarks({ ...open, text: text.slice(0, length) })).map(stripPaint);
  const left = kind === 'table' ? above.length : count;
  const isSame = joinWords(above) === joinWords(shown.slice(0, left));
  const isApart = kind === 'table' || !isReadAnew(text, length);
  return length > 0 && left >= count && isSame && isApart ? { length, count: left } : all;
}

function isReadAnew(text: string, length: number): boolean {
  const lastLine = text.lastIndexOf('\n', length - 1) + 1;
  const isLineStart = text.slice(lastLine, length).trim() === '';
  return !isLineStart && beginsBlock(takeBefore(text.slice(length), '\n'));
}

function beginsBlock(line: string): boolean {
  const isMark = findListMarker(line) !== undefined || findFence(line) !== undefined || /^ {0,3}>/.test(line);
  return isMark || isHeading(line) || isRule(line) || isUnderline(line);
}

function joinWords(lines: readonly string[]): string {
  return lines.join('').replace(/\s+/g, '');
}

/** The start of the last line that is indented least, the first one aside: no list item continues there. */
function findItem(text: string): number {
  let least = Number.POSITIVE_INFINITY;
  let found = 0;
  let start = 0;
  for (const line of text.split('\n')) {
    const indent = measureIndent(line);
    if (start > 0 && line.trim() !== '' && indent <= least) {
      least = indent;
      found = start;
    }
    start += line.length + 1;
  }
  return found;
}

/** Whether what follows is not taken for a mark at the start of a block, and no inline mark is open here. */
function isBetweenBlocks(text: string, end: number): boolean {
  if (!/^[\p{L}\p{Ps}\p{Pi}"']/u.test(text.slice(end, end + 2))) return false;
  const before = text.slice(0, end);
  const hasMark = [/`/g, /\*\*/g, /~~/g].some((mark) => hasOdd(before, mark));
  return !hasMark && countMatches(before, /\[/g) <= countMatches(before, /\]/g);
}

/** How far ahead in the source the next character of a line is looked for: past the marks between. */
const MAX_MARKS = 300;

/** Where in the source each of its lines ends: after the blanks and marks that follow it. */
function findLineEnds(source: string, lines: readonly string[]): readonly number[] {
  let at = 0;
  return lines.map((line) => {
    for (const char of line) {
      if (char === ' ') continue;
      const found = source.slice(at, at + MAX_MARKS).indexOf(char);
      // A bullet or a decoded entity is not in the source.
      if (found >= 0) at += found + char.length;
    }
    at += /^[*_~`)]*\s*/.exec(source.slice(at, at + MAX_MARKS))?.[0].length ?? 0;
    return at;
  });
}

/** The end of the last word before `end`; `end` itself if there is only one. The marks of quotes and items are no words. */
function findSpace(text: string, end: number): number {
  const space = text.lastIndexOf(' ', end);
  const marks = /^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*/.exec(text)?.[0].length ?? 0;
  return space > marks ? space + 1 : end;
}
