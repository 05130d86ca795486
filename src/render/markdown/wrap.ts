import { measureWidth, splitGraphemes } from '../../core/text/width.ts';
import { type Paint, plainPaint, stripPaint } from './theme.ts';

/** A run of inline text in one style. A line break in it is a line break on the screen. */
export interface Span {
  readonly text: string;
  readonly paint: Paint;
  /** Code keeps its spaces. */
  readonly isCode?: boolean;
}

interface Unit {
  readonly gap: Span | undefined;
  readonly parts: Span[];
  width: number;
  readonly isLineBreak?: boolean;
}

/** Scripts without spaces between words: a line may end after any of their characters … */
const BREAKABLE = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\u3000-\u303f\uff00-\uffef]/u;
/** … but not before a closing mark, nor after an opening one. */
const CLOSING =
  /^[、。，．・：；？！）］｝〕〉》」』】〙〗ー々ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮ,.:;?!)\]}»”’%]/u;
const OPENING = /[（［｛〔〈《「『【〘〖([{«“‘]$/u;

/**
 * Lays out spans in lines no wider than `width`, breaking at spaces and between the characters of scripts without
 * spaces. A word too long for a line gets a line of its own and is not broken, so that addresses can be copied, unless
 * `breaksLongWords`.
 */
export function wrapSpans(spans: readonly Span[], width: number, { breaksLongWords = false } = {}): string[] {
  const lines: string[] = [];
  let line: Span[] = [];
  let used = 0;
  const endLine = (): void => {
    lines.push(paintLine(line));
    line = [];
    used = 0;
  };
  for (const unit of splitUnits(spans, width, breaksLongWords)) {
    if (unit.isLineBreak) {
      endLine();
      continue;
    }
    const gapWidth = unit.gap === undefined || used === 0 ? 0 : measureWidth(unit.gap.text);
    if (used > 0 && used + gapWidth + unit.width > width) endLine();
    else if (gapWidth > 0 && unit.gap !== undefined) line.push(unit.gap);
    used += used === 0 ? unit.width : gapWidth + unit.width;
    line.push(...unit.parts);
  }
  endLine();
  return lines;
}

/** In characters: a longer line of code is left for the terminal to break. */
const MAX_CODE = 8192;

/** The rows of a painted line of code, indented like the line. A word is broken only if no row has room for it. */
export function wrapCode(line: string, width: number): readonly string[] {
  const measure = (text: string): number => measureWidth(text.replaceAll('\t', '        '));
  if (line.length > MAX_CODE || measure(line) <= width) return [line];
  const [blanks = ''] = /^[ \t]*/.exec(stripPaint(line)) ?? [];
  const indent = measure(blanks) * 2 > width ? '' : blanks;
  return wrapSpans(readPainted(line), width - measure(indent), { breaksLongWords: true }).map((row) => indent + row);
}

/** Chalk closes in pairs what it opens. */
function readPainted(line: string): readonly Span[] {
  const spans: Span[] = [];
  let open = '';
  let depth = 0;
  for (const [token, code] of line.matchAll(/\u001b\[([\d;]*)m|[^\u001b]+/g)) {
    if (code === undefined) {
      const on = open;
      spans.push({ text: token, paint: on === '' ? plainPaint : (text) => `${on}${text}\u001b[0m`, isCode: true });
    } else {
      depth += /^(?:0|2[2-9]|39|49)$/.test(code) ? -1 : 1;
      open = depth > 0 ? open + token : '';
    }
  }
  return spans;
}

export function joinSpans(spans: readonly Span[]): string {
  return paintLine(spans.map((span) => ({ ...span, text: span.text.replaceAll('\n', ' ') })));
}

function paintLine(spans: readonly Span[]): string {
  let painted = '';
  for (let index = 0; index < spans.length; ) {
    const paint = spans[index]?.paint ?? plainPaint;
    let text = '';
    for (; spans[index]?.paint === paint; index += 1) text += spans[index]?.text ?? '';
    painted += text === '' ? '' : paint(text);
  }
  return painted;
}

function splitUnits(spans: readonly Span[], width: number, breaksLongWords: boolean): readonly Unit[] {
  const list: Unit[] = [];
  let gap: Span | undefined;
  let canBreak = true;
  const addPart = (part: Span): void => {
    const last = list.at(-1);
    const columns = measureWidth(part.text);
    const mustBreak = breaksLongWords && last !== undefined && last.width + columns > width;
    if (canBreak || mustBreak || gap !== undefined || last === undefined) {
      list.push({ gap, parts: [part], width: columns });
    } else {
      last.parts.push(part);
      last.width += columns;
    }
    gap = undefined;
    canBreak = false;
  };
  for (const { text, paint, isCode } of spans) {
    for (const [token] of text.matchAll(/\n|[ \t]+|[^ \t\n]+/g)) {
      if (token === '\n') {
        list.push({ gap: undefined, parts: [], width: 0, isLineBreak: true });
        gap = undefined;
        canBreak = true;
      } else if (token.trimStart() === '') {
        gap = { text: isCode ? token : ' ', paint };
      } else {
        for (const piece of splitWord(token, width, breaksLongWords)) {
          const last = list.at(-1)?.parts.at(-1)?.text ?? '';
          canBreak ||= piece.mayBreakBefore && !CLOSING.test(piece.text) && !OPENING.test(last);
          addPart({ text: piece.text, paint });
        }
      }
    }
  }
  return list;
}

interface Piece {
  readonly text: string;
  readonly mayBreakBefore: boolean;
}

function splitWord(word: string, width: number, breaksLongWords: boolean): readonly Piece[] {
  const isPlain = /^[\x21-\x7e]+$/.test(word);
  const isTooLong = measureWidth(word) > width;
  if (isPlain && !(isTooLong && breaksLongWords)) return [{ text: word, mayBreakBefore: false }];
  const pieces: Piece[] = [];
  let run = '';
  let mayBreak = false;
  let wasWide = false;
  const endRun = (): void => {
    if (run !== '') pieces.push({ text: run, mayBreakBefore: mayBreak });
    run = '';
  };
  for (const grapheme of splitGraphemes(word)) {
    const isWide = isTooLong || BREAKABLE.test(grapheme);
    if (isWide || wasWide) {
      endRun();
      mayBreak = true;
    }
    run += grapheme;
    wasWide = isWide;
  }
  endRun();
  return pieces;
}
