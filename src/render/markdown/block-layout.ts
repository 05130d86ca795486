import { blockLines, createNumbering, type Numbering } from './blocks.ts';
import type { OpenHighlighter } from './lazy.ts';
import { type Links, lexBlocks } from './lexer.ts';
import { createTheme } from './theme.ts';

/**
 * Some Markdown blocks with the state from the text before them. Plain data, so that it can be sent to another thread.
 */
export interface BlockJob {
  readonly text: string;
  readonly width: number;
  readonly isStyled: boolean;
  readonly links: Links;
  readonly numbering: Numbering;
}

export interface LaidOutBlocks {
  readonly lines: readonly string[];
  readonly links: Links;
  readonly numbering: Numbering;
}

/**
 * Lays out blocks; undefined if they cannot be parsed as Markdown without loss. Blocks the thread for as long as it
 * takes: check `isCostly` first.
 */
export function layOutBlocks(job: BlockJob, openHighlighter: OpenHighlighter | undefined): LaidOutBlocks | undefined {
  const { text, width, isStyled, links } = job;
  try {
    const tokens = lexBlocks(text, links);
    if (tokens === undefined) return undefined;
    const numbering = tokens[0]?.type === 'list' ? { ...job.numbering } : createNumbering();
    const lines = blockLines(tokens, { width, theme: createTheme(isStyled), openHighlighter, numbering });
    return { lines, links: tokens.links, numbering };
  } catch {
    // Thousands of nested quotes overflow the stack, here or in the lexer.
    return undefined;
  }
}
