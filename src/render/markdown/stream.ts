import type { TextWork } from '../../core/text-work.ts';
import { type LaidOutBlocks, layOutBlocks } from './block-layout.ts';
import { createNumbering, plainLines } from './blocks.ts';
import type { Highlighter } from './highlight.ts';
import { loadHighlighter, type OpenHighlighter } from './lazy.ts';
import { estimateCost, isCostly, type Links } from './lexer.ts';
import { type Segment, segmenter } from './segments.ts';
import { createTheme } from './theme.ts';

export interface MarkdownPage {
  /** Called for every block, because the window may be resized. */
  readonly columns: () => number;
  readonly isStyled: boolean;
  /** Lays out slow blocks on another thread. If absent, they are shown as written. */
  readonly work?: TextWork | undefined;
}

/** Lays out Markdown as it streams. The text must already be filtered for the terminal. */
export interface MarkdownStream {
  /**
   * The lines completed by this text, each with its line break. The cost does not grow with the length of the answer.
   */
  push(text: string): Promise<string>;
  /** The rest. Later text starts a new block. */
  end(): Promise<string>;
}

/** The cost after which to yield to the event loop: about 10 ms. */
const MAX_AT_ONCE = 300_000;
/** The cost of highlighting relative to lexing. */
const HIGHLIGHTING = 100;
/** In characters: a line of code is read together with the comment or string around it. */
const MAX_CONTEXT = 2048;
/** In characters: code inside a list or a quote is highlighted all at once. */
const MAX_INNER_CODE = 1024;

/** Nothing of the text is ever lost: what cannot be laid out is shown as written. */
export function markdownStream({ columns, isStyled, work }: MarkdownPage): MarkdownStream {
  const theme = createTheme(isStyled);
  const segments = segmenter();
  let links: Links = {};
  let openHighlighter: OpenHighlighter | undefined;
  let highlight: Highlighter | undefined;
  let numbering = createNumbering();
  let hasWritten = false;
  let isSpaced = false;
  let codeLength = 0;
  let cost = 0;

  const layOutSegment = async (segment: Exclude<Segment, { type: 'blank' }>): Promise<readonly string[]> => {
    switch (segment.type) {
      case 'fence':
        numbering = createNumbering();
        highlight = openHighlighter?.(segment.language, theme);
        codeLength = 0;
        return [theme.faint(segment.line.trim())];
      case 'fenceEnd':
        return [theme.faint(segment.line.trim())];
      case 'code':
        codeLength += segment.line.length;
        cost += HIGHLIGHTING * Math.min(MAX_CONTEXT, codeLength);
        return highlight?.([segment.line]) ?? [segment.line];
      case 'blocks':
        return layOutText(segment.text);
    }
  };

  const layOutText = async (text: string): Promise<readonly string[]> => {
    const width = Math.max(1, columns());
    const job = { text, width, isStyled, links, numbering };
    const isHard = isCostly(text) || (text.length > MAX_INNER_CODE && isStyled && hasCode(text));
    // The thread runs `layOutBlocks` on the same job.
    const laidOut = isHard
      ? ((await work?.run('blocks', job)) as LaidOutBlocks | undefined)
      : layOutBlocks(job, openHighlighter);
    if (!isHard) cost += estimateCost(text);
    links = laidOut?.links ?? links;
    numbering = laidOut?.numbering ?? createNumbering();
    return laidOut?.lines ?? (isHard ? text.trimEnd().split('\n') : plainLines(text, width));
  };

  const show = async (ready: readonly Segment[]): Promise<string> => {
    if (isStyled && ready.some(needsHighlighter)) openHighlighter ??= await loadHighlighter();
    let text = '';
    for (const segment of ready) {
      if (segment.type === 'blank') {
        isSpaced = hasWritten;
        continue;
      }
      const lines = await layOutSegment(segment);
      if (cost > MAX_AT_ONCE) {
        await work?.pause();
        cost = 0;
      }
      if (lines.length === 0) continue;
      text += `${isSpaced ? '\n' : ''}${lines.join('\n')}\n`;
      isSpaced = false;
      hasWritten = true;
    }
    return text;
  };
  return { push: (text) => show(segments.push(text)), end: () => show(segments.end()) };
}

function needsHighlighter(segment: Segment): boolean {
  if (segment.type === 'fence') return segment.language !== '';
  return segment.type === 'blocks' && hasCode(segment.text);
}

function hasCode(text: string): boolean {
  return /^[ \t>*+\-\d.)]*(?:```|~~~)\s*\w/m.test(text);
}
