import { blockLines, type Numbering, newNumbering } from './blocks.ts';
import type { OpenHighlighter } from './lazy.ts';
import { type Links, lexBlocks } from './lexer.ts';
import { themeFor } from './theme.ts';

/** Some blocks of Markdown, and what of the text before them matters: everything can be sent to another thread. */
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

/** Lays out blocks; undefined if they cannot be read as Markdown without loss. Takes as long as it takes: see `isCostly`. */
export function layOutBlocks(job: BlockJob, openHighlighter: OpenHighlighter | undefined): LaidOutBlocks | undefined {
  const { text, width, isStyled, links } = job;
  try {
    const tokens = lexBlocks(text, links);
    if (tokens === undefined) return undefined;
    const numbering = tokens[0]?.type === 'list' ? { ...job.numbering } : newNumbering();
    const lines = blockLines(tokens, { width, theme: themeFor(isStyled), openHighlighter, numbering });
    return { lines, links: tokens.links, numbering };
  } catch {
    // Thousands of nested quotes exhaust the stack, here or in the lexer.
    return undefined;
  }
}
