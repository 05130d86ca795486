import { AppError } from '../../core/error.ts';
import type { OpenedFile } from '../../platform/files/regular-file.ts';

export interface LineWindow {
  readonly lines: readonly string[];
  /** Counted from 1. */
  readonly first: number;
  /** Undefined if the file was not read to its end. */
  readonly total: number | undefined;
  readonly isCut: boolean;
  readonly lineLimit: number;
}

export interface WantedLines {
  readonly first: number;
  /** Inclusive; absent: as many as may be shown. */
  readonly last: number | undefined;
  /** The first character of each line, counted from 1. */
  readonly column: number;
}

const MAX_LINES = 2000;
const MAX_LINE_LENGTH = 2000;
/** The limit for a single requested line: whoever asks for one line wants all of it. */
const MAX_ONLY_LINE_LENGTH = 100_000;
const MAX_LENGTH = 256_000;
const CHUNK_BYTES = 1_000_000;
const MAX_SCANNED_BYTES = 1_000_000_000;

/** Breaks long lines, so that a window cuts none of them. */
export function breakLongLines(text: string): string {
  // Half the limit, because a character may be two UTF-16 units.
  const pieces = new RegExp(`.{1,${MAX_LINE_LENGTH / 2}}`, 'gsu');
  return text
    .split('\n')
    .map((line) => (line.length > MAX_LINE_LENGTH / 2 ? (line.match(pieces) ?? []).join('\n') : line))
    .join('\n');
}

export function selectLines(text: string, wanted: WantedLines): LineWindow & { readonly total: number } {
  const chosen: string[] = [];
  const last = limitLast(wanted);
  let total = 0;
  // No split: few lines of a large text are wanted.
  for (let from = 0; from < text.length; ) {
    const feed = text.indexOf('\n', from);
    const end = feed === -1 ? text.length : feed;
    total += 1;
    if (total >= wanted.first && total <= last) chosen.push(text.slice(from, end));
    from = end + 1;
  }
  return { ...cutLines(chosen, wanted), first: wanted.first, total };
}

function limitLast({ first, last = Number.POSITIVE_INFINITY }: WantedLines): number {
  return Math.min(last, first + MAX_LINES - 1);
}

function cutLines(lines: readonly string[], { first, last, column }: WantedLines) {
  const lineLimit = first === last ? MAX_ONLY_LINE_LENGTH : MAX_LINE_LENGTH;
  const kept: string[] = [];
  let length = 0;
  let isCut = false;
  for (const whole of lines) {
    const line = whole.slice(column - 1);
    const isLong = line.length > lineLimit;
    const text = isLong ? `${line.slice(0, lineLimit)}… [line cut, ${whole.length} characters]` : line;
    if (length + text.length > MAX_LENGTH) break;
    length += text.length + 1;
    isCut ||= isLong;
    kept.push(text.endsWith('\r') ? text.slice(0, -1) : text);
  }
  return { lines: kept, isCut, lineLimit };
}

/**
 * The wanted lines of a file too large to be read whole; read from the start, a chunk at a time. Throws AppError
 * `usage` if they are too far in.
 */
export async function readWindow(file: OpenedFile, wanted: WantedLines, signal: AbortSignal): Promise<LineWindow> {
  const collected: Buffer[] = [];
  let size = 0;
  let line = 1;
  for (let position = 0; position < MAX_SCANNED_BYTES; position += CHUNK_BYTES) {
    signal.throwIfAborted();
    const chunk = Buffer.from(await file.read(position, CHUNK_BYTES));
    let from = 0;
    while (line < wanted.first && from < chunk.length) {
      const feed = chunk.indexOf(10, from);
      from = feed === -1 ? chunk.length : feed + 1;
      if (feed !== -1) line += 1;
    }
    if (line === wanted.first && size < MAX_LENGTH * 4) {
      collected.push(chunk.subarray(from));
      size += chunk.length - from;
    }
    const isEnd = chunk.length < CHUNK_BYTES;
    if (isEnd || size >= MAX_LENGTH * 4) return toWindow(collected, wanted, isEnd);
  }
  throw new AppError('usage', `line ${wanted.first} is more than 1 GB into the file`, {
    hint: 'Find what you need with search_file_content.',
  });
}

function toWindow(chunks: readonly Buffer[], wanted: WantedLines, isEnd: boolean): LineWindow {
  const all = Buffer.concat(chunks).toString('utf8').split('\n');
  if (isEnd && all.at(-1) === '') all.pop();
  const some = cutLines(all.slice(0, limitLast(wanted) - wanted.first + 1), wanted);
  const total = isEnd && some.lines.length > 0 ? wanted.first - 1 + all.length : undefined;
  return { ...some, first: wanted.first, total };
}
