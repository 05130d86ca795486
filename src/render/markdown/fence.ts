import type { Highlighter } from './highlight.ts';
import type { OpenHighlighter } from './lazy.ts';
import type { Segment } from './segments.ts';
import type { Theme } from './theme.ts';

/** Lays out the lines of top-level fences, in the order they come. */
export interface FenceLayout {
  add(segment: Extract<Segment, { type: 'fence' | 'code' | 'fenceEnd' }>): readonly string[];
  /** The cost since it was last asked for, relative to that of lexing. */
  takeCost(): number;
}

/** The cost of highlighting relative to lexing. */
const HIGHLIGHTING = 100;
/** In characters: a line of code is read together with the comment or string around it. */
const MAX_CONTEXT = 2048;

export function fenceLayout(theme: Theme, openHighlighter: () => OpenHighlighter | undefined): FenceLayout {
  let highlight: Highlighter | undefined;
  let length = 0;
  let cost = 0;
  return {
    add(segment) {
      switch (segment.type) {
        case 'fence':
          highlight = openHighlighter()?.(segment.language, theme);
          length = 0;
          return [theme.faint(segment.line.trim())];
        case 'code':
          length += segment.line.length;
          cost += HIGHLIGHTING * Math.min(MAX_CONTEXT, length);
          return highlight?.([segment.line]) ?? [segment.line];
        case 'fenceEnd':
          return [theme.faint(segment.line.trim())];
      }
    },
    takeCost() {
      const taken = cost;
      cost = 0;
      return taken;
    },
  };
}
