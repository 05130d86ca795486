import { blockLines, createNumbering, type Numbering } from './blocks.ts';
import { asMarkedTokens } from './inline.ts';
import type { OpenHighlighter } from './lazy.ts';
import { type Links, lexBlocks } from './lexer.ts';
import { chooseShape, type TableShape } from './table.ts';
import { createTheme } from './theme.ts';

/** Some Markdown blocks with the state from the text before them. */
export interface BlockJob {
  readonly text: string;
  readonly width: number;
  readonly isStyled: boolean;
  readonly hasLinks: boolean;
  readonly links: Links;
  readonly numbering: Numbering;
  /** For the rows of a table that began earlier: how it looks there. */
  readonly continued?: { readonly shape: TableShape };
}

export interface LaidOutBlocks {
  readonly lines: readonly string[];
  readonly links: Links;
  readonly numbering: Numbering;
}

/** Lays out blocks; undefined if they cannot be parsed as Markdown without loss, or not fast enough. */
export function layOutBlocks(job: BlockJob, openHighlighter: OpenHighlighter | undefined): LaidOutBlocks | undefined {
  const { text, width, isStyled, hasLinks, links, continued } = job;
  try {
    const tokens = lexBlocks(text, links);
    if (tokens === undefined) return undefined;
    const numbering = tokens[0]?.type === 'list' ? { ...job.numbering } : createNumbering();
    const lines = blockLines(tokens, {
      width,
      theme: createTheme(isStyled, hasLinks),
      openHighlighter,
      numbering,
      continued,
    });
    return { lines, links: tokens.links, numbering };
  } catch {
    // Thousands of nested quotes overflow the stack, here or in the lexer.
    return undefined;
  }
}

/** How a table in this text is laid out, for the rows that follow it; undefined if it is not shown in columns, or has no rows. */
export function findTableShape({ text, width, isStyled, hasLinks, links }: BlockJob): TableShape {
  const tokens = lexBlocks(text, links);
  if (tokens === undefined) return 'as written';
  const table = asMarkedTokens(tokens).find((token) => token.type === 'table');
  return table === undefined || table.rows.length === 0
    ? undefined
    : chooseShape(table, createTheme(isStyled, hasLinks), width);
}
