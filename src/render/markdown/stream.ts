import type { TextWork } from '../../core/text-work.ts';
import { type LaidOutBlocks, layOutBlocks } from './block-layout.ts';
import { newNumbering, plainLines } from './blocks.ts';
import type { Highlighter } from './highlight.ts';
import { loadHighlighter, type OpenHighlighter } from './lazy.ts';
import { costOf, isCostly, type Links } from './lexer.ts';
import { type Segment, segmenter } from './segments.ts';
import { themeFor } from './theme.ts';

/** Where Markdown is laid out. */
export interface Page {
  /** Asked anew for every block, so that a window may change its size. */
  readonly columns: () => number;
  readonly isStyled: boolean;
  /** Where blocks are laid out that may take long. Absent: they are shown as they were written. */
  readonly work?: TextWork | undefined;
}

/** Lays out Markdown as it streams. The text must have passed the terminal filter. */
export interface MarkdownStream {
  /** The lines that are complete after this text, each with its line break. Costs no more late in an answer than early. */
  push(text: string): Promise<string>;
  /** The rest. What comes after starts a new block. */
  end(): Promise<string>;
}

/** So much may be done before others have their turn: about a hundredth of a second. */
const MAX_AT_ONCE = 300_000;
/** What highlighting costs more than reading. */
const HIGHLIGHTING = 100;
/** A line of code is read together with the lines of the comment or string that it is in. */
const MAX_CONTEXT = 2048;
/** Code inside of a list or a quote is highlighted all at once. */
const MAX_INNER_CODE = 1024;

/** Opens a page. No word of the text is ever lost: what cannot be laid out is shown as it was written. */
export function markdownStream({ columns, isStyled, work }: Page): MarkdownStream {
  const theme = themeFor(isStyled);
  const segments = segmenter();
  let links: Links = {};
  let openHighlighter: OpenHighlighter | undefined;
  let highlight: Highlighter | undefined;
  let numbering = newNumbering();
  let hasWritten = false;
  let isSpaced = false;
  let codeLength = 0;
  let cost = 0;

  const linesOf = async (segment: Exclude<Segment, { type: 'blank' }>): Promise<readonly string[]> => {
    switch (segment.type) {
      case 'fence':
        numbering = newNumbering();
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
        return linesOfBlocks(segment.text);
    }
  };

  const linesOfBlocks = async (text: string): Promise<readonly string[]> => {
    const width = Math.max(1, columns());
    const job = { text, width, isStyled, links, numbering };
    const isHard = isCostly(text) || (text.length > MAX_INNER_CODE && isStyled && holdsCode(text));
    // The thread runs the same function on the same job.
    const laidOut = isHard
      ? ((await work?.run('blocks', job)) as LaidOutBlocks | undefined)
      : layOutBlocks(job, openHighlighter);
    if (!isHard) cost += costOf(text);
    links = laidOut?.links ?? links;
    numbering = laidOut?.numbering ?? newNumbering();
    return laidOut?.lines ?? (isHard ? text.trimEnd().split('\n') : plainLines(text, width));
  };

  const show = async (ready: readonly Segment[]): Promise<string> => {
    if (isStyled && ready.some(mayHoldCode)) openHighlighter ??= await loadHighlighter();
    let text = '';
    for (const segment of ready) {
      if (segment.type === 'blank') {
        isSpaced = hasWritten;
        continue;
      }
      const lines = await linesOf(segment);
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

function mayHoldCode(segment: Segment): boolean {
  if (segment.type === 'fence') return segment.language !== '';
  return segment.type === 'blocks' && holdsCode(segment.text);
}

function holdsCode(text: string): boolean {
  return /^[ \t>*+\-\d.)]*(?:```|~~~)\s*\w/m.test(text);
}
