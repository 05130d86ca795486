import { joinLines } from '../../core/text/trim.ts';
import { blockLines, createNumbering, type Numbering, plainLines } from './blocks.ts';
import { fenceLayout } from './fence.ts';
import type { OpenHighlighter } from './highlight.ts';
import { asMarkedTokens } from './inline.ts';
import { estimateCost, type Links, lexBlocks } from './lexer.ts';
import { canPreview, closeMarks, countRows, findCut, findOpenMarks, findShownEnd } from './open-text.ts';
import { type BlockSegment, type OpenText, type Segment, segmenter } from './segments.ts';
import { chooseShape, type TableShape } from './table.ts';
import { createTheme } from './theme.ts';
import { wrapCode } from './wrap.ts';

export interface MarkdownPage {
  /** Called for every block, because the window may be resized. */
  readonly columns: () => number;
  readonly isStyled: boolean;
  readonly hasLinks?: boolean;
  readonly pause?: () => Promise<void>;
}

/** Lays out Markdown as it streams. The text must already be filtered for the terminal. */
export interface MarkdownStream {
  /**
   * The lines completed by this text, each with its line break. The cost does not grow with the length of the answer.
   */
  push(text: string): Promise<string>;
  /** The rest. Later text starts a new block. */
  end(): Promise<string>;
  /** What is not complete yet, in at most `room` rows of the window. The cost does not grow with the answer. */
  preview(room: number): Promise<Preview>;
  /**
   * At least `count` of the live lines that `preview` gave last stay on the screen for good, and do not come again. The
   * result is how many: more if the text cannot be cut there.
   */
  leave(count: number): Promise<number>;
}

export interface Preview {
  /** Lines that are complete after all, because the block has become taller than the room; each with its line break. */
  readonly complete: string;
  readonly live: readonly string[];
}

interface ShownPreview extends Preview {
  readonly open?: OpenText;
  /** How many of the live lines are those of the open text; the others are above it. */
  readonly openCount: number;
  readonly isTail?: boolean;
}

/** The cost after which to yield to the event loop: about 10 ms. */
const MAX_AT_ONCE = 300_000;
/** In characters: code inside a list or a quote would be highlighted all at once, so longer code is not. */
const MAX_INNER_CODE = 1024;
/** In characters: longer text that is shown as written is left for the terminal to wrap. */
const MAX_WRAPPED = 8192;

/** Nothing of the text is ever lost: what cannot be laid out is shown as written. */
export function markdownStream(page: MarkdownPage): MarkdownStream {
  const segments = segmenter();
  const layout = segmentLayout(page);
  const { fences } = layout;
  let hasWritten = false;
  let isSpaced = false;
  /** What a cut completed below the lines that were left. */
  const unshown: Segment[] = [];
  let shown: ShownPreview = { complete: '', live: [], openCount: 0 };

  const show = async (ready: readonly Segment[]): Promise<string> => {
    await layout.prepare(ready);
    let text = '';
    for (const segment of ready) {
      // Empty lines set code apart, in the place of its fences.
      if (segment.type === 'blank' || segment.type === 'fence') isSpaced = hasWritten;
      if (segment.type === 'blank') continue;
      const lines = await layout.layOut(segment);
      if (lines.length > 0) {
        text += `${isSpaced ? '\n' : ''}${lines.join('\n')}\n`;
        isSpaced = false;
        hasWritten = true;
      }
      if (segment.type === 'fenceEnd') isSpaced = hasWritten;
    }
    return text;
  };
  const cutOpen = (open: OpenText, length: number, marks?: string): readonly Segment[] => {
    layout.keepShape(open, length);
    return segments.cut(length, marks);
  };
  return {
    push: (text) => show([...unshown.splice(0), ...segments.push(text)]),
    end: async () => (await show([...unshown.splice(0), ...segments.end()])) + joinLines(fences.release()),
    async preview(room) {
      const cut = (open: OpenText, length: number): Promise<string> => show(cutOpen(open, length));
      const options = { room, columns: page.columns(), isSpaced: () => isSpaced, layout, cut };
      shown = await previewOpen(segments.open, options);
      return shown;
    },
    async leave(count) {
      const { live, open, openCount, isTail = false } = shown;
      const above = live.length - openCount;
      fences.release();
      isSpaced = false;
      hasWritten = true;
      if (count <= above || open === undefined) return above;
      // Shown again, as a whole: its beginning would be lost.
      if (isTail) return live.length;
      const left = findShownEnd(open, live.slice(above), count - above, (text) => layout.layOutNow(open, text) ?? []);
      const parts = cutOpen(open, left.length, findOpenMarks(open, left.length));
      // Laid out only for what the text below must know of it.
      await show(parts.slice(0, 1));
      unshown.push(...parts.slice(1));
      return above + left.count;
    },
  };
}

type SegmentLayout = ReturnType<typeof segmentLayout>;

function segmentLayout({ columns, isStyled, hasLinks = false, pause }: MarkdownPage) {
  const theme = createTheme(isStyled, hasLinks);
  const fences = fenceLayout(theme, { columns, openHighlighter: () => openHighlighter });
  let links: Links = {};
  let openHighlighter: OpenHighlighter | undefined;
  /** By the margin of the list: items may continue after code that stands deeper. */
  const numberings = new Map<number, Numbering>();
  let cost = 0;
  /** Of the table whose first rows are shown already. */
  let shape: TableShape;

  const findWidth = ({ margin }: BlockSegment): number => Math.max(1, columns() - margin);
  const endLists = (margin: number): void => {
    for (const key of numberings.keys()) if (key >= margin) numberings.delete(key);
  };
  /** Undefined if the blocks cannot be parsed as Markdown without loss, or not fast enough. */
  const tryLayOut = (block: BlockSegment, highlighter: OpenHighlighter | undefined) => {
    try {
      const tokens = lexBlocks(block.text, links);
      if (tokens === undefined) return undefined;
      const earlier = tokens[0]?.type === 'list' ? numberings.get(block.margin) : undefined;
      const numbering = { ...(earlier ?? createNumbering()) };
      const continued = block.isContinued ? { shape } : undefined;
      const layout = { width: findWidth(block), theme, openHighlighter: highlighter, numbering, continued };
      return { lines: blockLines(tokens, layout), links: tokens.links, numbering };
    } catch {
      // Thousands of nested quotes overflow the stack, here or in the lexer.
      return undefined;
    }
  };
  const layOutBlock = (block: BlockSegment): readonly string[] => {
    const { text, margin } = block;
    const isLongCode = text.length > MAX_INNER_CODE && hasCode(text);
    const laidOut = tryLayOut(block, isLongCode ? undefined : openHighlighter);
    cost += estimateCost(text);
    links = laidOut?.links ?? links;
    endLists(margin);
    if (laidOut !== undefined) numberings.set(margin, laidOut.numbering);
    return indentLines(laidOut?.lines ?? writtenLines(block, findWidth(block)), block);
  };
  const layOutSegment = (segment: Exclude<Segment, { type: 'blank' }>): readonly string[] => {
    if (segment.type === 'blocks') return layOutBlock(segment);
    if (segment.type === 'fence') endLists(segment.margin);
    const lines = fences.add(segment);
    cost += fences.takeCost();
    return lines;
  };
  return {
    fences,
    async prepare(segments: readonly Segment[]): Promise<void> {
      if (!isStyled || !segments.some(needsHighlighter)) return;
      openHighlighter ??= (await import('./highlight.ts')).createHighlighter;
    },
    async layOut(segment: Exclude<Segment, { type: 'blank' }>): Promise<readonly string[]> {
      const lines = layOutSegment(segment);
      if (cost > MAX_AT_ONCE) {
        await pause?.();
        cost = 0;
      }
      return lines;
    },
    /** This text in place of the open one; undefined if it cannot be parsed. */
    layOutNow({ block }: OpenText, text: string): readonly string[] | undefined {
      const laidOut = tryLayOut({ ...block, text }, openHighlighter);
      return laidOut === undefined ? undefined : indentLines(laidOut.lines, block);
    },
    /** If the open text is a table, the rows after the first `length` characters will look like those before. */
    keepShape({ kind, block, text }: OpenText, length: number): void {
      if (kind !== 'table' || block.isContinued) return;
      const tokens = lexBlocks(text.slice(0, length), links);
      const table = asMarkedTokens(tokens ?? []).find((token) => token.type === 'table');
      if (tokens === undefined) shape = 'as written';
      else shape = table?.rows.length ? chooseShape(table, theme, findWidth(block)) : undefined;
    },
  };
}

interface PreviewOptions {
  readonly room: number;
  readonly columns: number;
  readonly isSpaced: () => boolean;
  readonly layout: SegmentLayout;
  readonly cut: (open: OpenText, length: number) => Promise<string>;
}

async function previewOpen(findOpen: () => OpenText | undefined, options: PreviewOptions): Promise<ShownPreview> {
  const { room, columns, isSpaced, layout, cut } = options;
  const { fences } = layout;
  let complete = countRows(fences.held, columns) < room ? '' : joinLines(fences.release());
  let last = Number.POSITIVE_INFINITY;
  for (;;) {
    const open = findOpen();
    if (open === undefined) return { complete, live: fences.held, openCount: 0 };
    const { lines, isTail } = layOutOpen(open, options);
    const live = [...(isSpaced() ? [''] : []), ...fences.held, ...lines];
    const shown = { complete, live, open, openCount: lines.length, isTail };
    if (open.kind === 'code' || countRows(live, columns) <= room) return shown;
    const length = findCut(open, lines, (text) => layout.layOutNow(open, text) ?? []);
    // What is left has the marks of the quotes around it again, so it may be no shorter.
    if (length <= 0 || length > open.text.length || open.text.length >= last) return shown;
    last = open.text.length;
    complete += await cut(open, length);
  }
}

interface OpenLines {
  readonly lines: readonly string[];
  /** Only the end of the text fits in the window. */
  readonly isTail: boolean;
}

function layOutOpen(open: OpenText, { room, columns, layout }: PreviewOptions): OpenLines {
  const { kind, text, block } = open;
  const tail = text.slice(-room * columns);
  const isTail = tail.length < text.length;
  if (kind === 'code') {
    const rows = wrapCode(tail, Math.max(1, columns - block.margin));
    return { lines: indentLines(rows.slice(-room), block), isTail: isTail || rows.length > room };
  }
  const laidOut = canPreview(text) ? layout.layOutNow(open, closeMarks(open)) : undefined;
  if (laidOut !== undefined) return { lines: laidOut, isTail: false };
  return { lines: indentLines(plainLines(tail, Math.max(1, columns - block.margin)), block), isTail };
}

/** A block that is not laid out. The header of a table that began earlier has been shown. */
function writtenLines({ text, isContinued }: BlockSegment, width: number): readonly string[] {
  const rest = isContinued ? text.split('\n').slice(2).join('\n') : text;
  return rest.length > MAX_WRAPPED ? rest.trimEnd().split('\n') : plainLines(rest, width);
}

function indentLines(lines: readonly string[], { margin }: BlockSegment): readonly string[] {
  return margin === 0 ? lines : lines.map((line) => (line === '' ? '' : ' '.repeat(margin) + line));
}

function needsHighlighter(segment: Segment): boolean {
  if (segment.type === 'fence') return segment.language !== '';
  return segment.type === 'blocks' && hasCode(segment.text);
}

function hasCode(text: string): boolean {
  return /^[ \t>*+\-\d.)]*(?:```|~~~)\s*\w/m.test(text);
}
