import { blockLexer } from './block-lexer.ts';
import { blockLines, newNumbering, plainLines } from './blocks.ts';
import type { Segment } from './cut.ts';
import type { Highlighter } from './highlight.ts';
import { loadHighlighter, type OpenHighlighter } from './lazy.ts';
import { segmenter } from './segments.ts';
import { themeFor } from './theme.ts';

/** Where Markdown is laid out. */
export interface Page {
  /** Asked anew for every block, so that a window may change its size. */
  readonly columns: () => number;
  readonly isStyled: boolean;
}

/** Lays out Markdown as it streams. The text must have passed the terminal filter. */
export interface MarkdownStream {
  /** The lines that are complete after this text, each with its line break. Costs no more late in an answer than early. */
  push(text: string): Promise<string>;
  /** The rest. What comes after starts a new block. */
  end(): Promise<string>;
}

/** Opens a page. No word of the text is ever lost: what cannot be laid out is shown as it was written. */
export function markdownStream(page: Page): MarkdownStream {
  const theme = themeFor(page.isStyled);
  const segments = segmenter();
  const lexer = blockLexer();
  let openHighlighter: OpenHighlighter | undefined;
  let highlight: Highlighter | undefined;
  let numbering = newNumbering();
  let hasWritten = false;
  let isSpaced = false;

  const linesOf = (segment: Exclude<Segment, { type: 'blank' }>): readonly string[] => {
    switch (segment.type) {
      case 'fence':
        numbering = newNumbering();
        highlight = openHighlighter?.(segment.language, theme);
        return [theme.faint(segment.line.trim())];
      case 'fenceEnd':
        return [theme.faint(segment.line.trim())];
      case 'code':
        return highlight?.([segment.line]) ?? [segment.line];
      case 'blocks':
        return linesOfBlocks(segment.text, Math.max(1, page.columns()));
    }
  };

  const linesOfBlocks = (text: string, width: number): readonly string[] => {
    try {
      const tokens = lexer(text);
      if (tokens?.[0]?.type !== 'list') numbering = newNumbering();
      if (tokens !== undefined) return blockLines(tokens, { width, theme, openHighlighter, numbering });
    } catch {
      // Thousands of nested quotes exhaust the stack, here or in the lexer.
    }
    return plainLines(text, width);
  };

  const show = async (ready: readonly Segment[]): Promise<string> => {
    if (page.isStyled && ready.some(mayHoldCode)) openHighlighter ??= await loadHighlighter();
    let text = '';
    for (const segment of ready) {
      if (segment.type === 'blank') {
        isSpaced = hasWritten;
        continue;
      }
      const lines = linesOf(segment);
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
  return segment.type === 'blocks' && /^[ \t>*+\-\d.)]*(?:```|~~~)\s*\w/m.test(segment.text);
}
