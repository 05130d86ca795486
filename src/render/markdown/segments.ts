import {
  type Fence,
  findFence,
  findItemFence,
  findListMarker,
  isDelimiterRow,
  isFenceEnd,
  isHeading,
  isRule,
  isUnderline,
  measureIndent,
} from './lexer.ts';

interface Segmenter {
  /** The segments completed by this text. Each line is looked at once. */
  push(text: string): readonly Segment[];
  /** The rest, as if the text ended here; also ends an open fence. */
  end(): readonly Segment[];
  open(): OpenText | undefined;
  /**
   * Completes the first `length` characters of the open text; a line of code is dropped. The rest goes on with these
   * marks, if they end in its first line.
   */
  cut(length: number, marks?: string): readonly Segment[];
}

export interface OpenText {
  readonly kind: 'code' | 'table' | 'list' | 'text';
  readonly text: string;
  readonly block: BlockSegment;
}

/** Cuts streaming Markdown into segments by looking at its lines only; the lexer parses the blocks. */
export function segmenter(): Segmenter {
  const lines = lineSplitter();
  let cut: SegmenterState = createState();
  const take = (): readonly Segment[] => cut.ready.splice(0);
  const openText = (): string => {
    const partial = resumeMarks(stripIndent(lines.peek(), cut.fence?.indent ?? cut.margin), cut.marks);
    return cut.open.length === 0 ? partial : `${cut.open.join('\n')}\n${partial}`;
  };
  return {
    push(text) {
      for (const line of lines.push(text)) addLine(cut, line);
      if (cut.margin > 0) leaveMargin(cut, lines.peek());
      return take();
    },
    end() {
      const rest = lines.rest();
      if (rest !== '') addLine(cut, rest);
      closeBlock(cut);
      const last = take();
      cut = createState();
      return last;
    },
    open() {
      const text = openText();
      if (text.trim() === '') return undefined;
      const { fence, kind } = cut;
      const block = toBlock(cut, text);
      if (fence !== undefined) return { kind: 'code', text, block };
      return { kind: kind === 'table' || kind === 'list' ? kind : 'text', text, block };
    },
    cut(length, marks = '') {
      const text = openText();
      lines.rest();
      if (cut.fence !== undefined) return [];
      const rest = splitOpen(cut, { first: text.slice(0, length), rest: text.slice(length), marks });
      const partial = rest.pop() ?? '';
      for (const line of rest) addLine(cut, line);
      lines.push(partial);
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
  const { kind, open, innerFence } = cut;
  const head = open.slice(0, 2);
  const isWholeLine = first.endsWith('\n');
  const quote = isWholeLine ? '' : (/^ {0,3}(?:> ?)+/.exec(first.slice(first.lastIndexOf('\n') + 1))?.[0] ?? '');
  const isList = kind === 'list' || kind === 'none';
  const marker = isList ? (findListMarker(open[0] ?? first)?.text.length ?? 0) : 0;
  const inner = isWholeLine ? Math.min(marker, measureIndent(rest)) : marker;
  const margin = cut.margin + inner;
  dropOpen(cut);
  cut.margin = margin;
  const indent = ' '.repeat(margin);
  const outer = ' '.repeat(margin - inner);
  cut.marks = marks;
  if (rest === '') cut.fence = innerFence;
  const lines = rest.split('\n').map((line, index) => (index === 0 && !isWholeLine ? indent + quote : outer) + line);
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
  cut.innerFence = undefined;
  cut.isBlankBefore = false;
  cut.isContinued = false;
}

function toBlock({ margin, isContinued }: SegmenterState, text: string): BlockSegment {
  return { type: 'blocks', text, ...(margin > 0 ? { margin } : {}), ...(isContinued ? { isContinued } : {}) };
}

interface LineSplitter {
  push(text: string): readonly string[];
  peek(): string;
  rest(): string;
}

/** In characters. A longer line is cut at about this length. */
const MAX_LINE_LENGTH = 65_536;

/** Joins the pieces of a line only once, when it ends or has become too long. */
function lineSplitter(): LineSplitter {
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
      const end = space > 0 ? space : MAX_LINE_LENGTH;
      cut.push(line.slice(0, end));
      line = line.slice(space > 0 ? end + 1 : end);
    }
    add(line);
    return cut;
  };
  return {
    push(text) {
      const complete: string[] = [];
      for (const [index, piece] of text.split('\n').entries()) {
        if (index > 0) complete.push(rest());
        add(piece);
        if (length > MAX_LINE_LENGTH) complete.push(...stretches());
      }
      return complete;
    },
    peek() {
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
  | { readonly type: 'fence'; readonly line: string; readonly language: string }
  | { readonly type: 'code'; readonly line: string }
  | { readonly type: 'fenceEnd'; readonly line: string };

export interface BlockSegment {
  readonly type: 'blocks';
  readonly text: string;
  /** In columns: the indentation that was removed. */
  readonly margin?: number;
  /** The rows of a table whose first rows were cut off; its header is there, but has been shown. */
  readonly isContinued?: boolean;
}

interface SegmenterState {
  readonly ready: Segment[];
  open: string[];
  /** In characters. */
  size: number;
  kind: 'none' | 'paragraph' | 'table' | 'list' | 'other';
  fence: Fence | undefined;
  innerFence: Fence | undefined;
  listIndent: number;
  isBlankBefore: boolean;
  balance: Balance;
  /** In columns: the indentation of what is left of a list that was cut. */
  margin: number;
  isContinued: boolean;
  /** Those open at the end of what was cut off. */
  marks: string;
}

/** How many lines a paragraph with an unclosed bracket or star waits for the closing one. */
const MAX_OPEN_LINES = 100;
/** In characters. A longer block is too long for the lexer, so there is no need to wait for its end. */
const MAX_OPEN_LENGTH = 262_144;

function createState(): SegmenterState {
  return {
    ready: [],
    open: [],
    size: 0,
    kind: 'none',
    fence: undefined,
    innerFence: undefined,
    listIndent: 0,
    isBlankBefore: false,
    balance: createBalance(),
    margin: 0,
    isContinued: false,
    marks: '',
  };
}

function addLine(cut: SegmenterState, written: string): void {
  if (cut.size > MAX_OPEN_LENGTH) closeBlock(cut);
  const line = resumeMarks(cut.margin === 0 ? written : leaveMargin(cut, written), cut.marks);
  cut.marks = '';
  cut.size += line.length + 1;
  if (cut.fence !== undefined) addToFence(cut, cut.fence, line);
  else if (line.trim() === '') addBlank(cut);
  else if (cut.kind === 'list') addToList(cut, line);
  else if (cut.kind === 'none' || isHeading(line) || isTopFence(line)) beginBlock(cut, line);
  else if (cut.kind === 'paragraph') addToParagraph(cut, line);
  else cut.open.push(line);
}

function leaveMargin(cut: SegmenterState, line: string): string {
  if (line.trim() === '' || measureIndent(line) >= cut.margin) return stripIndent(line, cut.margin);
  closeBlock(cut);
  cut.margin = 0;
  return line;
}

function closeBlock(cut: SegmenterState): void {
  let end = cut.open.length;
  while (end > 0 && cut.open[end - 1] === '') end -= 1;
  if (end > 0) cut.ready.push(toBlock(cut, `${cut.open.slice(0, end).join('\n')}\n`));
  if (end < cut.open.length) cut.ready.push({ type: 'blank' });
  dropOpen(cut);
}

function addToFence(cut: SegmenterState, fence: Fence, line: string): void {
  if (isFenceEnd(line, fence)) {
    cut.fence = undefined;
    cut.ready.push({ type: 'fenceEnd', line });
  } else {
    cut.ready.push({ type: 'code', line: stripIndent(line, fence.indent) });
  }
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
  if (isTopFence(line)) {
    cut.fence = findFence(line);
    cut.ready.push({ type: 'fence', line, language: cut.fence?.language ?? '' });
    return;
  }
  cut.open.push(line);
  const indent = measureIndent(line);
  if (isHeading(line) || isRule(line)) {
    closeBlock(cut);
  } else if (indent < 4 && findListMarker(line) !== undefined) {
    cut.kind = 'list';
    cut.listIndent = indent;
    cut.innerFence = findItemFence(line);
  } else if (indent >= 4 || /^ *[<>]/.test(line)) {
    cut.kind = 'other';
  } else {
    cut.kind = 'paragraph';
    cut.balance = createBalance();
    cut.balance.add(line);
  }
}

function addToList(cut: SegmenterState, line: string): void {
  const isOutside = measureIndent(line) < cut.listIndent + 2;
  if (cut.innerFence !== undefined && !isOutside) {
    if (isFenceEnd(line, cut.innerFence)) cut.innerFence = undefined;
    cut.open.push(line);
    return;
  }
  const isItem = findListMarker(line) !== undefined;
  if (isOutside && (isItem || cut.isBlankBefore || isHeading(line) || isTopFence(line))) {
    beginBlock(cut, line);
  } else {
    cut.isBlankBefore = false;
    cut.innerFence = findItemFence(line);
    cut.open.push(line);
  }
}

function addToParagraph(cut: SegmenterState, line: string): void {
  const isTable = cut.open.length === 1 && isDelimiterRow(line, cut.open[0] ?? '');
  if (isTable || isUnderline(line)) {
    cut.open.push(line);
    if (isTable) cut.kind = 'table';
    else closeBlock(cut);
  } else if (interruptsParagraph(line) || (isParagraphComplete(cut) && canStandAlone(line))) {
    beginBlock(cut, line);
  } else {
    cut.open.push(line);
    cut.balance.add(line);
  }
}

function interruptsParagraph(line: string): boolean {
  return isRule(line) || /^ {0,3}>/.test(line) || findListMarker(line)?.canInterrupt === true;
}

function isParagraphComplete({ balance, open }: SegmenterState): boolean {
  return balance.isClosed() || open.length >= MAX_OPEN_LINES;
}

/** A number that starts no list, and an indented line, have their meaning only inside their paragraph. */
function canStandAlone(line: string): boolean {
  return findListMarker(line) === undefined && measureIndent(line) < 4;
}

function isTopFence(line: string): boolean {
  return (findFence(line)?.indent ?? 4) < 4;
}

function stripIndent(line: string, indent: number): string {
  let end = 0;
  while (end < indent && line[end] === ' ') end += 1;
  return line.slice(end);
}

interface Balance {
  add(line: string): void;
  /** Whether a line break here splits no emphasis, code or link, judging by the counts. */
  isClosed(): boolean;
}

/** Counting is enough: a wrong guess loses a style, never a word. */
function createBalance(): Balance {
  let ticks = 0;
  let stars = 0;
  let tildes = 0;
  let brackets = 0;
  return {
    add(line) {
      for (const [mark] of line.matchAll(/`|\*\*|~~|\[|\]/g)) {
        if (mark === '`') ticks += 1;
        else if (mark === '**') stars += 1;
        else if (mark === '~~') tildes += 1;
        else if (mark === '[') brackets += 1;
        else brackets -= 1;
      }
    },
    isClosed: () => ticks % 2 === 0 && stars % 2 === 0 && tildes % 2 === 0 && brackets <= 0,
  };
}
