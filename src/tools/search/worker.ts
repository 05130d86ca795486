import { StringDecoder } from 'node:string_decoder';
import { sniffEncoding } from '../../core/text/decode.ts';
import { type RegularFile, withRegularFile } from '../../platform/files/read-sync.ts';
import { enableLinearPatterns, serveTasks } from '../../platform/process/serve-thread.ts';

const MAX_FILE_BYTES = 67_108_864;
/** Also the longest line of a UTF-8 file that is searched to its end. Even, for UTF-16. */
const BUFFER_BYTES = 1_048_576;
const MAX_WIDE_LINE = 1_000_000;
const MAX_SHOWN = 500;

export interface SearchSpec {
  readonly source: string;
  readonly flags: string;
  /** The pattern is in lower case, so texts must be lower-cased, too. */
  readonly isFolded: boolean;
  readonly before: number;
  readonly after: number;
  readonly perFile: number;
  /** A text without a match as a whole has none in any line either. */
  readonly canSkip: boolean;
  /** A text contained in every match, as UTF-8 with bit 0x20 set in each byte; absent if there is none. */
  readonly literal?: Uint8Array;
  /** Counts the files and blocks begun; the main thread watches it to detect a stuck pattern. */
  readonly progress: Int32Array;
}

interface FoundLine {
  readonly line: number;
  readonly text: string;
  readonly isMatch: boolean;
}

export interface FoundFile {
  readonly name: string;
  readonly lines: readonly FoundLine[];
  /** The rest of the file was not searched: it is too large, or there are enough matches. */
  readonly isCut: boolean;
}

export interface Task {
  readonly id: number;
  readonly address: string;
  readonly files: readonly string[];
}

export interface TaskResult {
  readonly id: number;
  readonly found: readonly FoundFile[];
  /** Files that hold a match. */
  readonly binary: number;
  readonly unreadable: number;
  readonly cut: number;
}

export function createLineCollector(spec: SearchSpec, pattern: RegExp) {
  const lines: FoundLine[] = [];
  const recent: FoundLine[] = [];
  let number = 0;
  let owed = 0;
  let matches = 0;
  const formatLine = (line: string, at: number): string => {
    if (line.length <= MAX_SHOWN) return line.endsWith('\r') ? line.slice(0, -1) : line;
    const from = Math.max(0, Math.min(at - 100, line.length - MAX_SHOWN));
    return `${from > 0 ? '…' : ''}${line.slice(from, from + MAX_SHOWN)}… [line cut, ${line.length} characters]`;
  };
  const findMatch = (line: string, isCut: boolean): number => {
    const text = spec.isFolded ? line.toLowerCase() : line;
    if (!isCut) return text.search(pattern);
    // A match that depends on the artificial end of a cut line disappears if one character less is given.
    const [found, earlier] = [text, text.slice(0, -1)].map((each) => pattern.exec(each));
    return found && earlier && found.index === earlier.index && found[0] === earlier[0] ? found.index : -1;
  };
  const keepContext = (line: string): void => {
    recent.push({ line: number, text: formatLine(line, 0), isMatch: false });
    if (recent.length > spec.before) recent.shift();
  };
  return {
    lines,
    /** False once there are enough matches. `isCut`: the line goes on beyond the buffer. */
    take(line: string, isCut = false): boolean {
      number += 1;
      const at = matches < spec.perFile ? findMatch(line, isCut) : -1;
      if (at !== -1) {
        matches += 1;
        lines.push(...recent.splice(0), { line: number, text: formatLine(line, at), isMatch: true });
        owed = spec.after;
      } else if (owed > 0) {
        owed -= 1;
        lines.push({ line: number, text: formatLine(line, 0), isMatch: false });
      } else if (spec.before > 0) keepContext(line);
      return matches < spec.perFile || owed > 0;
    },
    /** Counts the lines of a text without a match; false if one of them is needed as context. */
    skip(text: string | Buffer): boolean {
      if (owed > 0) return false;
      // Only the last skipped lines may be needed, as context before a later match.
      let from = text.length + 1;
      for (let count = 0; count < spec.before && from > 0; count += 1) {
        from = from === 1 ? 0 : text.lastIndexOf('\n', from - 2) + 1;
      }
      for (let feed = text.indexOf('\n'); feed !== -1 && feed < from; feed = text.indexOf('\n', feed + 1)) number += 1;
      if (from > text.length) {
        number += 1;
        return true;
      }
      for (const line of text.slice(from).toString().split('\n')) {
        number += 1;
        keepContext(line);
      }
      return true;
    },
  };
}

interface Lines {
  /** Valid only until the next lines are read. Absent if the file is not UTF-8. */
  readonly bytes?: Buffer;
  readonly text: () => string;
  readonly isCut: boolean;
}

interface Reading {
  readonly file: RegularFile;
  readonly progress: Int32Array;
  readonly buffer: Buffer;
  /** Bytes of the file's start that are in `buffer` already. */
  readonly length: number;
}

/**
 * The lines of a UTF-8 file, as many at a time as the buffer holds, which also limits one line; at most 64 MB. Without
 * the byte order mark. Returns whether there is more.
 */
function* readUtf8Lines({ file, progress, buffer, length }: Reading): Generator<Lines, boolean> {
  let [kept, position, isLong, isCut] = [0, 0, false, false];
  const createLines = (from: number, to: number, isCutLine: boolean): Lines => {
    const bytes = buffer.subarray(from, to);
    return { bytes, text: () => bytes.toString(), isCut: isCutLine };
  };
  for (;;) {
    Atomics.add(progress, 0, 1);
    const room = buffer.length - kept;
    const read = position === 0 ? length : file.read(buffer, kept, room, position);
    const isFirst = position === 0;
    const filled = kept + read;
    position += read;
    const isLast = read < room;
    const hasMore = !isLast && position >= MAX_FILE_BYTES;
    let from = isFirst && buffer[0] === 0xef && buffer[1] === 0xbb && buffer[2] === 0xbf && filled > 2 ? 3 : 0;
    if (isLong) {
      const feed = buffer.subarray(0, filled).indexOf(10);
      from = feed === -1 ? filled : feed + 1;
      isLong = feed === -1;
    }
    const end = buffer.subarray(0, filled).lastIndexOf(10);
    if (isLast || hasMore) {
      if (hasMore && end >= from) yield createLines(from, end, false);
      const last = hasMore && end >= from ? end + 1 : from;
      if (last < filled) yield createLines(last, end === filled - 1 ? end : filled, hasMore);
      return isCut || hasMore;
    }
    if (end >= from) yield createLines(from, end, false);
    else if (from === 0 && filled === buffer.length) {
      yield createLines(0, filled, true);
      [isLong, isCut] = [true, true];
    }
    const rest = isLong ? filled : Math.max(from, end + 1);
    buffer.copyWithin(0, rest, filled);
    kept = filled - rest;
  }
}

/** The same for a UTF-16 file, with at most a million characters of one line. */
function* readUtf16Lines({ file, progress, buffer, length }: Reading, isBigEndian: boolean): Generator<Lines, boolean> {
  const decoder = new StringDecoder('utf16le');
  let rest = '';
  let isLong = false;
  let isCut = false;
  for (let position = 0; ; position += buffer.length) {
    Atomics.add(progress, 0, 1);
    const bytes = buffer.subarray(0, position === 0 ? length : file.read(buffer, 0, buffer.length, position));
    if (isBigEndian) bytes.subarray(0, bytes.length & ~1).swap16();
    const isLast = bytes.length < buffer.length;
    const decoded = decoder.write(bytes) + (isLast ? decoder.end() : '');
    const text = position === 0 && decoded.startsWith('\ufeff') ? decoded.slice(1) : decoded;
    const first = isLong ? text.indexOf('\n') : -1;
    if (isLong && first !== -1) {
      const long = rest;
      yield { text: () => long, isCut: true };
      rest = '';
      isLong = false;
    }
    const end = text.lastIndexOf('\n');
    const whole = rest + text.slice(first + 1, end);
    if (end > first) yield { text: () => whole, isCut: false };
    if (end !== -1) rest = text.slice(end + 1);
    else if (!isLong) rest += text;
    if (rest.length > MAX_WIDE_LINE) {
      rest = rest.slice(0, MAX_WIDE_LINE);
      isLong = true;
      isCut = true;
    }
    const hasMore = !isLast && position + buffer.length >= MAX_FILE_BYTES;
    if (!isLast && !hasMore) continue;
    if (rest !== '') yield { text: () => rest, isCut: isLong || hasMore };
    return isCut || hasMore;
  }
}

/**
 * Copies the bytes to `scratch` (four bytes larger) with bit 0x20 set in all of them: a text present in any case is
 * found there, with a few false positives.
 */
export function foldBytes(bytes: Buffer, scratch: Buffer): Buffer {
  const words = (bytes.length + 3) >> 2;
  bytes.copy(scratch);
  const wide = new Uint32Array(scratch.buffer, scratch.byteOffset, words);
  for (let index = 0; index < words; index += 1) wide[index] = (wide[index] ?? 0) | 0x20202020;
  return scratch.subarray(0, bytes.length);
}

interface SearchedFile {
  readonly kind: 'text' | 'binary';
  readonly lines: readonly FoundLine[];
  readonly isCut: boolean;
}

interface Search {
  readonly spec: SearchSpec;
  readonly pattern: RegExp;
  readonly buffer: Buffer;
  readonly scratch: Buffer;
}

function searchOpened(file: RegularFile, { spec, pattern, buffer, scratch }: Search): SearchedFile {
  const collector = createLineCollector(spec, pattern);
  const search = (text: string): boolean => {
    if (spec.canSkip && !pattern.test(spec.isFolded ? text.toLowerCase() : text) && collector.skip(text)) return true;
    const middle = text.length > 65_536 ? text.indexOf('\n', text.length >> 1) : -1;
    if (middle !== -1 && spec.canSkip) return search(text.slice(0, middle)) && search(text.slice(middle + 1));
    return text.split('\n').every((line) => collector.take(line));
  };
  const literal = spec.canSkip && spec.literal ? Buffer.from(spec.literal) : undefined;
  /** Like `search`, but decodes only the lines around the literal. */
  const searchBytes = (bytes: Buffer, wanted: Buffer): boolean => {
    const plain = foldBytes(bytes, scratch);
    for (let from = 0; from <= bytes.length; ) {
      const hit = plain.indexOf(wanted, from);
      const start = hit === -1 ? bytes.length + 1 : bytes.lastIndexOf(10, hit) + 1;
      const before = bytes.subarray(from, Math.max(from, start - 1));
      if (start > from && !collector.skip(before) && !search(before.toString())) return false;
      if (hit === -1) return true;
      const feed = bytes.indexOf(10, hit + 16_384);
      const end = feed === -1 ? bytes.length : feed;
      if (!search(bytes.toString('utf8', start, end))) return false;
      from = end + 1;
    }
    return true;
  };
  const length = file.size === 0 ? 0 : file.read(buffer, 0, buffer.length, 0);
  const encoding = sniffEncoding(buffer.subarray(0, length));
  const kind = encoding === undefined ? 'binary' : 'text';
  const reading = { file, progress: spec.progress, buffer, length };
  const isWide = encoding === 'utf16le' || encoding === 'utf16be';
  const lines = isWide ? readUtf16Lines(reading, encoding === 'utf16be') : readUtf8Lines(reading);
  for (let next = lines.next(); ; next = lines.next()) {
    if (next.done === true) return { kind, lines: collector.lines, isCut: next.value };
    const { bytes, text, isCut } = next.value;
    const goesOn = (): boolean => (literal && bytes ? searchBytes(bytes, literal) : search(text()));
    if (!(isCut ? collector.take(text(), true) : goesOn())) return { kind, lines: collector.lines, isCut: true };
  }
}

export function searchFile(path: string, search: Search): SearchedFile | undefined {
  try {
    return withRegularFile(path, (file) => searchOpened(file, search));
  } catch {
    return undefined;
  }
}

export function serveSearch(): void {
  // A pattern that the linear engine does not support may get stuck; the main thread then terminates this one.
  enableLinearPatterns();
  serveTasks((spec: SearchSpec) => {
    const pattern = new RegExp(spec.source, spec.flags);
    const buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
    const scratch = Buffer.allocUnsafeSlow(BUFFER_BYTES + 4);
    return (task: Task) => searchTask(task, { spec, pattern, buffer, scratch });
  });
}

function searchTask({ id, address, files }: Task, search: Search): TaskResult {
  const found: FoundFile[] = [];
  const counts = { binary: 0, unreadable: 0, cut: 0 };
  const { progress } = search.spec;
  for (const [index, name] of files.entries()) {
    Atomics.add(progress, 0, 1);
    Atomics.store(progress, 1, index);
    const searched = searchFile(`${address}/${name}`, search);
    if (searched === undefined) counts.unreadable += 1;
    // Matches in binary files are counted, not shown.
    else if (searched.kind === 'binary') counts.binary += searched.lines.some(({ isMatch }) => isMatch) ? 1 : 0;
    else if (searched.lines.length > 0) found.push({ name, lines: searched.lines, isCut: searched.isCut });
    else if (searched.isCut) counts.cut += 1;
  }
  return { id, found, ...counts };
}
