import { joinLines } from '../../core/text/trim.ts';
import type { TextWork } from '../../core/text-work.ts';
import { type BlockJob, findTableShape, type LaidOutBlocks, layOutBlocks } from './block-layout.ts';
import { createNumbering, plainLines } from './blocks.ts';
import { type FenceLayout, fenceLayout } from './fence.ts';
import { loadHighlighter, type OpenHighlighter } from './lazy.ts';
import { estimateCost, isCostly, type Links } from './lexer.ts';
import { canPreview, closeMarks, countRows, findCut } from './open-text.ts';
import { type BlockSegment, type OpenText, type Segment, segmenter } from './segments.ts';
import type { TableShape } from './table.ts';
import { createTheme } from './theme.ts';

export interface MarkdownPage {
  /** Called for every block, because the window may be resized. */
  readonly columns: () => number;
  readonly isStyled: boolean;
  readonly hasLinks?: boolean;
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
  /** What is not complete yet, in at most `room` rows of the window. The cost does not grow with the answer. */
  preview(room: number): Promise<Preview>;
  /** What `preview` has given is shown for good: it does not come again. */
  skipOpen(): void;
}

export interface Preview {
  /** Lines that are complete after all, because the block has become taller than the room; each with its line break. */
  readonly complete: string;
  readonly live: readonly string[];
}

/** The cost after which to yield to the event loop: about 10 ms. */
const MAX_AT_ONCE = 300_000;
/** In characters: code inside a list or a quote is highlighted all at once. */
const MAX_INNER_CODE = 1024;

/** Nothing of the text is ever lost: what cannot be laid out is shown as written. */
export function markdownStream({ columns, isStyled, hasLinks = false, work }: MarkdownPage): MarkdownStream {
  const theme = createTheme(isStyled, hasLinks);
  const segments = segmenter();
  const fences = fenceLayout(theme, () => openHighlighter);
  let links: Links = {};
  let openHighlighter: OpenHighlighter | undefined;
  let numbering = createNumbering();
  let hasWritten = false;
  let isSpaced = false;
  let cost = 0;
  /** Of the table whose first rows are shown already. */
  let shape: TableShape;

  const layOutSegment = async (segment: Exclude<Segment, { type: 'blank' }>): Promise<readonly string[]> => {
    if (segment.type === 'blocks') {
      const before = numbering;
      const lines = indentLines(await layOutText(toJob(segment)), segment);
      // The rest of an item that was cut does not count as the next one.
      if (segment.margin !== undefined) numbering = before;
      return lines;
    }
    if (segment.type === 'fence') numbering = createNumbering();
    const lines = fences.add(segment);
    cost += fences.takeCost();
    return lines;
  };

  const toJob = ({ text, margin = 0, isContinued = false }: BlockSegment): BlockJob => {
    const width = Math.max(1, columns() - margin);
    return { text, width, isStyled, hasLinks, links, numbering, continued: isContinued ? { shape } : undefined };
  };

  const layOutText = async (job: BlockJob): Promise<readonly string[]> => {
    const { text, width } = job;
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
  const layOutNow = (block: BlockSegment): readonly string[] | undefined => {
    const laidOut = layOutBlocks(toJob(block), openHighlighter);
    return laidOut === undefined ? undefined : indentLines(laidOut.lines, block);
  };
  const cutOpen = ({ kind, block, text }: OpenText, length: number): Promise<string> => {
    const isFirst = kind === 'table' && !block.isContinued;
    if (isFirst) shape = findTableShape(toJob({ ...block, text: text.slice(0, length) }));
    return show(segments.cut(length));
  };
  return {
    push: (text) => show(segments.push(text)),
    end: async () => (await show(segments.end())) + joinLines(fences.release()),
    preview: (room) =>
      previewOpen(segments.open, { room, columns: columns(), isSpaced: () => isSpaced, layOutNow, cutOpen, fences }),
    skipOpen() {
      segments.skip();
      fences.release();
      hasWritten = true;
      isSpaced = false;
    },
  };
}

interface PreviewOptions {
  /** In rows. */
  readonly room: number;
  readonly columns: number;
  readonly isSpaced: () => boolean;
  readonly layOutNow: (block: BlockSegment) => readonly string[] | undefined;
  readonly fences: FenceLayout;
  readonly cutOpen: (open: OpenText, length: number) => Promise<string>;
}

async function previewOpen(findOpen: () => OpenText | undefined, options: PreviewOptions): Promise<Preview> {
  const { room, columns, isSpaced, layOutNow, cutOpen, fences } = options;
  let complete = countRows(fences.held, columns) < room ? '' : joinLines(fences.release());
  for (;;) {
    const open = findOpen();
    if (open === undefined) return { complete, live: fences.held };
    const lines = [...fences.held, ...layOutOpen(open, options)];
    const live = isSpaced() ? ['', ...lines] : lines;
    if (open.kind === 'code' || countRows(live, columns) <= room) return { complete, live };
    const length = findCut(open, lines, (text) => layOutNow({ ...open.block, text }) ?? []);
    if (length <= 0 || length > open.text.length) return { complete, live };
    complete += await cutOpen(open, length);
  }
}

function layOutOpen(open: OpenText, { room, columns, layOutNow }: PreviewOptions): readonly string[] {
  const { kind, text, block } = open;
  // Of a very long line only the end fits in the window.
  const tail = text.slice(-room * columns);
  if (kind === 'code') return [tail];
  const isFence = /^ {0,3}(?:```|~~~)[^\n]*$/.test(text);
  const laidOut = canPreview(text) && !isFence ? layOutNow({ ...block, text: closeMarks(open) }) : undefined;
  return laidOut ?? indentLines(plainLines(tail, Math.max(1, columns - (block.margin ?? 0))), block);
}

function indentLines(lines: readonly string[], { margin = 0 }: BlockSegment): readonly string[] {
  return margin === 0 ? lines : lines.map((line) => (line === '' ? '' : ' '.repeat(margin) + line));
}

function needsHighlighter(segment: Segment): boolean {
  if (segment.type === 'fence') return segment.language !== '';
  return segment.type === 'blocks' && hasCode(segment.text);
}

function hasCode(text: string): boolean {
  return /^[ \t>*+\-\d.)]*(?:```|~~~)\s*\w/m.test(text);
}
