import { type Balance, balance } from './balance.ts';
import {
  type Fence,
  fenceOf,
  indentOf,
  isDelimiterRow,
  isFenceEnd,
  isHeading,
  isRule,
  isUnderline,
  listMarker,
} from './line.ts';

/** A stretch of the answer that can be shown, because nothing that follows will change what it means. */
export type Segment =
  /** Whole blocks of Markdown. */
  | { readonly type: 'blocks'; readonly text: string }
  | { readonly type: 'blank' }
  /** The lines of a fence come one by one: code is often long, and people like to watch it grow. */
  | { readonly type: 'fence'; readonly line: string; readonly language: string }
  | { readonly type: 'code'; readonly line: string }
  | { readonly type: 'fenceEnd'; readonly line: string };

/** Where the cutting stands: the segments that are ready, and the block that is still open. */
export interface Cut {
  readonly ready: Segment[];
  open: string[];
  /** The length of the open block. */
  size: number;
  kind: 'none' | 'paragraph' | 'table' | 'list' | 'other';
  /** The fence the text is in, if any. */
  fence: Fence | undefined;
  /** A fence inside the open list. */
  innerFence: Fence | undefined;
  listIndent: number;
  isBlankBefore: boolean;
  balance: Balance;
}

/** A paragraph with an unclosed bracket or star waits this many lines for the closing one. */
const MAX_OPEN_LINES = 100;
/** A block that has grown beyond what the lexer takes need not be waited for. */
const MAX_OPEN_LENGTH = 262_144;

/** Nothing read yet. */
export function newCut(): Cut {
  return {
    ready: [],
    open: [],
    size: 0,
    kind: 'none',
    fence: undefined,
    innerFence: undefined,
    listIndent: 0,
    isBlankBefore: false,
    balance: balance(),
  };
}

/** Takes the next line, without its line break; moves what it completes to `ready`. */
export function addLine(cut: Cut, line: string): void {
  if (cut.size > MAX_OPEN_LENGTH) closeBlock(cut);
  cut.size += line.length + 1;
  if (cut.fence !== undefined) addToFence(cut, cut.fence, line);
  else if (line.trim() === '') addBlank(cut);
  else if (cut.kind === 'list') addToList(cut, line);
  else if (cut.kind === 'none' || isHeading(line) || isTopFence(line)) begin(cut, line);
  else if (cut.kind === 'paragraph') addToParagraph(cut, line);
  else cut.open.push(line);
}

/** Ends the open block, as at the end of the text. */
export function closeBlock(cut: Cut): void {
  let end = cut.open.length;
  while (end > 0 && cut.open[end - 1] === '') end -= 1;
  if (end > 0) cut.ready.push({ type: 'blocks', text: `${cut.open.slice(0, end).join('\n')}\n` });
  if (end < cut.open.length) cut.ready.push({ type: 'blank' });
  cut.open = [];
  cut.size = 0;
  cut.kind = 'none';
  cut.innerFence = undefined;
  cut.isBlankBefore = false;
}

function addToFence(cut: Cut, fence: Fence, line: string): void {
  if (isFenceEnd(line, fence)) {
    cut.fence = undefined;
    cut.ready.push({ type: 'fenceEnd', line });
  } else {
    cut.ready.push({ type: 'code', line: withoutIndent(line, fence.indent) });
  }
}

function addBlank(cut: Cut): void {
  if (cut.kind === 'list') {
    // The list may go on after it.
    cut.open.push('');
    cut.isBlankBefore = true;
  } else {
    closeBlock(cut);
    cut.ready.push({ type: 'blank' });
  }
}

function begin(cut: Cut, line: string): void {
  closeBlock(cut);
  cut.size = line.length + 1;
  if (isTopFence(line)) {
    cut.fence = fenceOf(line);
    cut.ready.push({ type: 'fence', line, language: cut.fence?.language ?? '' });
    return;
  }
  cut.open.push(line);
  const indent = indentOf(line);
  if (isHeading(line) || isRule(line)) {
    closeBlock(cut);
  } else if (indent < 4 && listMarker(line) !== undefined) {
    cut.kind = 'list';
    cut.listIndent = indent;
    cut.innerFence = fenceInItem(line);
  } else if (indent >= 4 || /^ *[<>]/.test(line)) {
    cut.kind = 'other';
  } else {
    cut.kind = 'paragraph';
    cut.balance = balance();
    cut.balance.add(line);
  }
}

function addToList(cut: Cut, line: string): void {
  const isOutside = indentOf(line) < cut.listIndent + 2;
  if (cut.innerFence !== undefined && !isOutside) {
    if (isFenceEnd(line, cut.innerFence)) cut.innerFence = undefined;
    cut.open.push(line);
    return;
  }
  const isItem = listMarker(line) !== undefined;
  if (isOutside && (isItem || cut.isBlankBefore || isHeading(line) || isTopFence(line))) {
    begin(cut, line);
  } else {
    cut.isBlankBefore = false;
    cut.innerFence = fenceInItem(line);
    cut.open.push(line);
  }
}

function addToParagraph(cut: Cut, line: string): void {
  const isTable = cut.open.length === 1 && isDelimiterRow(line, cut.open[0] ?? '');
  if (isTable || isUnderline(line)) {
    cut.open.push(line);
    if (isTable) cut.kind = 'table';
    else closeBlock(cut);
  } else if (interruptsParagraph(line) || (isWhole(cut) && mayStandAlone(line))) {
    begin(cut, line);
  } else {
    cut.open.push(line);
    cut.balance.add(line);
  }
}

function interruptsParagraph(line: string): boolean {
  return isRule(line) || /^ {0,3}>/.test(line) || listMarker(line)?.canInterrupt === true;
}

function isWhole({ balance, open }: Cut): boolean {
  return balance.isClosed() || open.length >= MAX_OPEN_LINES;
}

/** A number that starts no list, and an indented line, mean what they mean only inside their paragraph. */
function mayStandAlone(line: string): boolean {
  return listMarker(line) === undefined && indentOf(line) < 4;
}

function isTopFence(line: string): boolean {
  return (fenceOf(line)?.indent ?? 4) < 4;
}

function fenceInItem(line: string): Fence | undefined {
  return fenceOf(line.slice(listMarker(line)?.text.length ?? 0));
}

function withoutIndent(line: string, indent: number): string {
  let end = 0;
  while (end < indent && line[end] === ' ') end += 1;
  return line.slice(end);
}
