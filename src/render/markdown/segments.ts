import {
  type Fence,
  findFence,
  findItems,
  findListMarker,
  type ItemMargin,
  isDelimiterRow,
  isFenceEnd,
  isHeading,
  isRule,
  isUnderline,
  MAX_BLOCK_LENGTH,
  measureColumns,
  measureIndent,
} from './lexer.ts';

export interface OpenText {
  readonly kind: 'code' | 'table' | 'list' | 'text';
  readonly text: string;
  readonly block: BlockSegment;
}

/** Cuts streaming Markdown into segments by looking at its lines only; the lexer parses the blocks. */
export function segmenter() {
  const lines = lineSplitter();
  let cut: SegmenterState = createState();
  const take = (): readonly Segment[] => cut.ready.splice(0);
  const openText = (): string => {
    const partial = resumeMarks(stripIndent(lines.peek(), findInnerIndent(cut)), cut.marks);
    return cut.open.length === 0 ? partial : `${cut.open.join('\n')}\n${partial}`;
  };
  return {
    /** The segments completed by this text. Each line is looked at once. */
    push(text: string): readonly Segment[] {
      for (const line of lines.push(text)) addLine(cut, line);
      if (cut.margins.length > 0) leaveItems(cut, lines.peek());
      return take();
    },
    /** The rest, as if the text ended here; also ends an open fence. */
    end(): readonly Segment[] {
      const rest = lines.rest();
      if (rest !== '') addLine(cut, rest);
      closeBlock(cut);
      const last = take();
      cut = createState();
      return last;
    },
    open(): OpenText | undefined {
      const text = openText();
      if (text.trim() === '') return undefined;
      const { fence, kind } = cut;
      const block = toBlock(cut, text);
      if (fence !== undefined) return { kind: 'code', text, block };
      return { kind: kind === 'table' || kind === 'list' ? kind : 'text', text, block };
    },
    /**
     * Completes the first `length` characters of the open text; a line of code is dropped. The rest goes on with these
     * marks, if they end in its first line.
     */
    cut(length: number, marks = ''): readonly Segment[] {
      const text = openText();
      const written = lines.rest();
      if (cut.fence !== undefined) {
        cut.begun += text;
        // The rest of the line is code of the same item.
        lines.push(' '.repeat(findInnerIndent(cut)));
        return [];
      }
      const rest = splitOpen(cut, { first: text.slice(0, length), rest: text.slice(length), marks });
      const partial = rest.pop() ?? '';
      for (const line of rest) addLine(cut, line);
      // The rest of its indentation may still come.
      lines.push(written.trim() === '' ? written : partial);
      return take();
    },
  };
}

interface CutText {
  readonly first: string;
  readonly rest: string;
  readonly marks: string;
}

/** Completes the first part of the open text; returns the lines of the rest, which go on in the same margin. */
function splitOpen(cut: SegmenterState, { first, rest, marks }: CutText): string[] {
  cut.ready.push(toBlock(cut, `${first.trimEnd()}\n`));
  if (/\n[ \t]*\n/.test(first.slice(first.trimEnd().length))) cut.ready.push({ type: 'blank' });
  const { kind, open } = cut;
  const head = open.slice(0, 2);
  const isWholeLine = first.endsWith('\n');
  const quote = isWholeLine ? '' : (/^ {0,3}(?:> ?)+/.exec(first.slice(first.lastIndexOf('\n') + 1))?.[0] ?? '');
  const outer = ' '.repeat(findMargin(cut).written);
  dropOpen(cut);
  const isList = kind === 'list' || kind === 'none';
  if (isList) enterItems(cut, first.split('\n'), isWholeLine ? measureIndent(rest) : Number.POSITIVE_INFINITY);
  const inner = ' '.repeat(findMargin(cut).written);
  cut.marks = marks;
  const lines = rest.split('\n').map((line, index) => (index === 0 && !isWholeLine ? inner + quote : outer) + line);
  if (kind === 'table') Object.assign(cut, { kind, open: head, isContinued: true });
  return lines;
}

/** The line with these marks opened again where its words begin, if they are closed in it; what they close may be nothing. */
function resumeMarks(line: string, marks: string): string {
  if (marks === '') return line;
  const start = /^[\s>]*/.exec(line)?.[0].length ?? 0;
  const words = line.slice(start);
  const closing = [...marks.replace('[', ']')].reverse().join('');
  const end = words.indexOf(closing);
  if (end > 0) return line.slice(0, start) + marks + words;
  if (end === 0) return line.slice(0, start) + words.slice(closing.length).trimStart();
  return closing.startsWith(words) ? line.slice(0, start) : line;
}

function dropOpen(cut: SegmenterState): void {
  cut.open = [];
  cut.size = 0;
  cut.kind = 'none';
  cut.isBlankBefore = false;
  cut.isContinued = false;
}

function toBlock(cut: SegmenterState, text: string): BlockSegment {
  const margin = findMargin(cut).shown;
  const { isContinued } = cut;
  return { type: 'blocks', text, margin, isContinued };
}

/** In characters. A longer line is cut at about this length. */
const MAX_LINE_LENGTH = 65_536;

/** Joins the pieces of a line only once, when it ends or has become too long. */
function lineSplitter() {
  let pieces: string[] = [];
  let length = 0;
  const add = (piece: string): void => {
    pieces.push(piece);
    length += piece.length;
  };
  const rest = (): string => {
    const line = pieces.join('');
    pieces = [];
    length = 0;
    return line;
  };
  const stretches = (): readonly string[] => {
    const cut: string[] = [];
    let line = rest();
    while (line.length > MAX_LINE_LENGTH) {
      const space = line.lastIndexOf(' ', MAX_LINE_LENGTH);
      const isBetweenWords = space > line.search(/\S/);
      const end = isBetweenWords ? space : MAX_LINE_LENGTH;
      cut.push(line.slice(0, end));
      line = line.slice(isBetweenWords ? end + 1 : end);
    }
    add(line);
    return cut;
  };
  return {
    push(text: string): readonly string[] {
      const complete: string[] = [];
      for (const [index, piece] of text.split('\n').entries()) {
        if (index > 0) complete.push(rest());
        add(piece);
        if (length > MAX_LINE_LENGTH) complete.push(...stretches());
      }
      return complete;
    },
    peek(): string {
      const line = pieces.join('');
      pieces = [line];
      return line;
    },
    rest,
  };
}

/** A part of the answer that can be shown, because no later text can change its meaning. */
export type Segment =
  | BlockSegment
  | { readonly type: 'blank' }
  /** The lines of a fence come one by one, so that long code appears while it streams. */
  | { readonly type: 'fence'; readonly line: string; readonly language: string; readonly margin: number }
  | { readonly type: 'code'; readonly line: string }
  | { readonly type: 'fenceEnd'; readonly line: string };

export interface BlockSegment {
  readonly type: 'blocks';
  readonly text: string;
  /** In columns: how far its lines are indented. */
  readonly margin: number;
  /** The rows of a table whose first rows were cut off; its header is there, but has been shown. */
  readonly isContinued: boolean;
}

interface SegmenterState {
  readonly ready: Segment[];
  open: string[];
  size: number;
  kind: 'none' | 'paragraph' | 'table' | 'list' | 'other';
  fence: Fence | undefined;
  /** The start of the current line of code that is shown already. */
  begun: string;
  listIndent: number;
  isBlankBefore: boolean;
  balance: ReturnType<typeof createBalance>;
  /** Of each item whose first lines are complete, the innermost last. */
  margins: ItemMargin[];
  isContinued: boolean;
  /** Those open at the end of what was cut off. */
  marks: string;
}

/** How many lines a paragraph with an unclosed bracket or star waits for the closing one. */
const MAX_OPEN_LINES = 100;

function createState(): SegmenterState {
  return {
    ready: [],
    open: [],
    size: 0,
    kind: 'none',
    fence: undefined,
    begun: '',
    listIndent: 0,
    isBlankBefore: false,
    balance: createBalance(),
    margins: [],
    isContinued: false,
    marks: '',
  };
}

function addLine(cut: SegmenterState, written: string): void {
  // A longer block is shown as written, so there is no need to wait for its end.
  if (cut.size > MAX_BLOCK_LENGTH) closeBlock(cut);
  leaveItems(cut, written);
  const line = resumeMarks(stripIndent(written, findInnerIndent(cut)), cut.marks);
  cut.marks = '';
  cut.size += line.length + 1;
  if (cut.fence !== undefined) addToFence(cut, cut.fence, line);
  else if (line.trim() === '') addBlank(cut);
  else if (cut.kind === 'list') addToList(cut, line);
  else if (cut.kind === 'none' || isHeading(line) || isTopFence(line)) beginBlock(cut, line);
  else if (cut.kind === 'paragraph') addToParagraph(cut, line);
  else cut.open.push(line);
}

const NO_MARGIN: ItemMargin = { written: 0, shown: 0 };

function findMargin({ margins }: SegmenterState): ItemMargin {
  return margins.at(-1) ?? NO_MARGIN;
}

/** In columns: how far the next line is indented if it belongs to the same item and the same code. */
function findInnerIndent(cut: SegmenterState): number {
  return findMargin(cut).written + (cut.fence?.indent ?? 0);
}

/** In columns. Deeper items are shown here, so that what is shown is not many times longer than what came. */
const MAX_MARGIN = 40;

/** What follows belongs to those items of these lines whose text begins at most this far to the right. */
function enterItems(cut: SegmenterState, lines: readonly string[], indent: number): void {
  const items: ItemMargin[] = [];
  for (const line of lines) {
    const { margins } = findItems(line);
    if (margins.length === 0) continue;
    const start = measureIndent(line);
    while ((items.at(-1) ?? NO_MARGIN).written > start) items.pop();
    const around = items.at(-1) ?? NO_MARGIN;
    items.push(...margins.map(({ written, shown }) => ({ written, shown: around.shown + shown })));
  }
  const outer = findMargin(cut);
  for (const { written, shown } of items) {
    if (written > indent) break;
    const column = Math.min(MAX_MARGIN, outer.shown + shown);
    cut.margins.push({ written: outer.written + written, shown: column });
  }
}

/**
 * A line that is indented less than an item ends that item. Code in it goes on until its closing fence: by the
 * specification it would end, too, but models forget to indent code far more often than to close it.
 */
function leaveItems(cut: SegmenterState, line: string): void {
  if (cut.fence !== undefined || line.trim() === '') return;
  const indent = measureIndent(line);
  while (indent < findMargin(cut).written) {
    closeBlock(cut);
    cut.margins.pop();
  }
}

function closeBlock(cut: SegmenterState): void {
  let end = cut.open.length;
  while (end > 0 && cut.open[end - 1] === '') end -= 1;
  if (end > 0) cut.ready.push(toBlock(cut, `${cut.open.slice(0, end).join('\n')}\n`));
  if (end < cut.open.length) cut.ready.push({ type: 'blank' });
  dropOpen(cut);
}

function addToFence(cut: SegmenterState, fence: Fence, line: string): void {
  const { begun } = cut;
  cut.begun = '';
  const isEnd = isFenceEnd(begun + line, fence);
  if (isEnd) cut.fence = undefined;
  if (begun === '' || line !== '') cut.ready.push({ type: isEnd ? 'fenceEnd' : 'code', line });
}

function addBlank(cut: SegmenterState): void {
  if (cut.kind === 'list') {
    // The list may continue after the blank line.
    cut.open.push('');
    cut.isBlankBefore = true;
  } else {
    closeBlock(cut);
    cut.ready.push({ type: 'blank' });
  }
}

function beginBlock(cut: SegmenterState, line: string): void {
  closeBlock(cut);
  cut.size = line.length + 1;
  const indent = measureIndent(line);
  if (isTopFence(line)) {
    beginFence(cut, line, findFence(line));
  } else if (isHeading(line) || isRule(line)) {
    cut.open.push(line);
    closeBlock(cut);
  } else if (indent < 4 && findListMarker(line) !== undefined) {
    cut.kind = 'list';
    cut.listIndent = indent;
    addToItem(cut, line);
  } else if (indent >= 4 || /^ *[<>]/.test(line)) {
    cut.kind = 'other';
    cut.open.push(line);
  } else {
    cut.kind = 'paragraph';
    cut.open.push(line);
    cut.balance = createBalance();
    cut.balance.add(line);
  }
}

function beginFence(cut: SegmenterState, line: string, fence: Fence | undefined): void {
  cut.fence = fence;
  cut.ready.push({ type: 'fence', line, language: fence?.language ?? '', margin: findMargin(cut).shown });
}

function addToList(cut: SegmenterState, line: string): void {
  const isOutside = measureIndent(line) < cut.listIndent + 2;
  const isItem = findListMarker(line) !== undefined;
  if (isOutside && (isItem || cut.isBlankBefore || isHeading(line) || isTopFence(line))) {
    beginBlock(cut, line);
  } else {
    cut.isBlankBefore = false;
    addToItem(cut, line);
  }
}

/** Code in an item is shown line by line like any other: the item ends for it, and continues after it. */
function addToItem(cut: SegmenterState, line: string): void {
  const { markers } = findItems(line);
  const text = line.slice(markers.length);
  const fence = findFence(text);
  if (fence === undefined) {
    cut.open.push(line);
    return;
  }
  const lines = [...cut.open, line];
  if (markers !== '') cut.open.push(markers);
  closeBlock(cut);
  const outer = findMargin(cut);
  const indent = measureColumns(markers) + fence.indent;
  enterItems(cut, lines, indent);
  beginFence(cut, text, { ...fence, indent: outer.written + indent - findMargin(cut).written });
}

function addToParagraph(cut: SegmenterState, line: string): void {
  const isComplete = cut.balance.isClosed() || cut.open.length >= MAX_OPEN_LINES;
  const isTable = cut.open.length === 1 && isDelimiterRow(line, cut.open[0] ?? '');
  if (isTable || isUnderline(line)) {
    cut.open.push(line);
    if (isTable) cut.kind = 'table';
    else closeBlock(cut);
  } else if (interruptsParagraph(line) || (isComplete && canStandAlone(line))) {
    beginBlock(cut, line);
  } else {
    cut.open.push(line);
    cut.balance.add(line);
  }
}

function interruptsParagraph(line: string): boolean {
  return isRule(line) || /^ {0,3}>/.test(line) || findListMarker(line)?.canInterrupt === true;
}

/** A number that starts no list, and an indented line, have their meaning only inside their paragraph. */
function canStandAlone(line: string): boolean {
  return findListMarker(line) === undefined && measureIndent(line) < 4;
}

function isTopFence(line: string): boolean {
  return (findFence(line)?.indent ?? 4) < 4;
}

/** Without so many columns of blanks at its start; of a tab that reaches further, blanks remain. */
function stripIndent(line: string, indent: number): string {
  let columns = 0;
  let end = 0;
  for (; columns < indent && (line[end] === ' ' || line[end] === '\t'); end += 1) {
    columns += line[end] === '\t' ? 4 - (columns % 4) : 1;
  }
  return ' '.repeat(Math.max(0, columns - indent)) + line.slice(end);
}

/** Counting is enough: a wrong guess loses a style, never a word. */
function createBalance() {
  let ticks = 0;
  let stars = 0;
  let tildes = 0;
  let brackets = 0;
  return {
    add(line: string): void {
      for (const [mark] of line.matchAll(/`|\*\*|~~|\[|\]/g)) {
        if (mark === '`') ticks += 1;
        else if (mark === '**') stars += 1;
        else if (mark === '~~') tildes += 1;
        else if (mark === '[') brackets += 1;
        else brackets -= 1;
      }
    },
    isClosed: (): boolean => ticks % 2 === 0 && stars % 2 === 0 && tildes % 2 === 0 && brackets <= 0,
  };
}
