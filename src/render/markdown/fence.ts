import { findChange } from './diff-lines.ts';
import type { Highlighter, OpenHighlighter } from './highlight.ts';
import type { Segment } from './segments.ts';
import type { Theme } from './theme.ts';
import { wrapCode } from './wrap.ts';

const HIGHLIGHTING = 100;
/** In characters: a line of code is read together with the comment or string around it. */
const MAX_CONTEXT = 2048;
/** In lines. A longer change is shown in parts. */
const MAX_HELD = 100;

/** Code without its fences: what the first one says stands above it. */
export function fenceLayout(
  theme: Theme,
  {
    columns,
    openHighlighter,
  }: { readonly columns: () => number; readonly openHighlighter: () => OpenHighlighter | undefined },
) {
  let highlight: Highlighter | undefined;
  let margin = '';
  let isDiff = false;
  let held: readonly string[] = [];
  let length = 0;
  let cost = 0;
  const indent = (lines: readonly string[]): readonly string[] =>
    lines.flatMap((line) =>
      line === '' ? '' : wrapCode(line, Math.max(1, columns() - margin.length)).map((row) => margin + row),
    );
  const paint = (lines: readonly string[]): readonly string[] => indent(highlight?.(lines) ?? lines);
  const release = (): readonly string[] => {
    const lines = held;
    held = [];
    return lines.length === 0 ? [] : paint(lines);
  };
  const addCode = (line: string): readonly string[] => {
    length += line.length;
    cost += HIGHLIGHTING * Math.min(MAX_CONTEXT, length);
    const change = isDiff ? findChange(line) : undefined;
    const goesOn = held.length < MAX_HELD && (change === '+' || findChange(held.at(-1) ?? '-') === '-');
    const before = goesOn && change !== undefined ? [] : release();
    if (change === undefined || (change === '+' && held.length === 0)) return [...before, ...paint([line])];
    held = [...held, line];
    return before;
  };
  return {
    /** The lines that are complete now: those of a change in a diff wait for its end. */
    add(segment: Extract<Segment, { type: 'fence' | 'code' | 'fenceEnd' }>): readonly string[] {
      switch (segment.type) {
        case 'fence':
          highlight = openHighlighter()?.(segment.language, theme);
          isDiff = highlight !== undefined && /^(?:diff|patch)$/.test(segment.language);
          length = 0;
          margin = ' '.repeat(segment.margin);
          return indent(infoLines(segment.line, theme));
        case 'code':
          return addCode(segment.line);
        case 'fenceEnd':
          return release();
      }
    },
    get held(): readonly string[] {
      return held.length === 0 ? [] : paint(held);
    },
    release,
    /** The cost since it was last asked for, relative to that of lexing. */
    takeCost(): number {
      const taken = cost;
      cost = 0;
      return taken;
    },
  };
}

/** What stands behind the marks of a fence. */
export function infoLines(fence: string, theme: Theme): readonly string[] {
  const info = fence.trim().replace(/^(?:`+|~+)[ \t]*/, '');
  return info === '' ? [] : [theme.faint(info)];
}
