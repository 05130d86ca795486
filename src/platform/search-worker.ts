// What runs in the worker. Every function here is turned into text and handed to a new thread, so none may use anything
// but its arguments: no import, no constant of this file, no other function by its name.

/** What a worker looks for. */
export interface Hunt {
  readonly source: string;
  readonly flags: string;
  /** Whether the pattern is in lower case, and texts are to be read so. */
  readonly isFolded: boolean;
  readonly before: number;
  readonly after: number;
  /** Matching lines of one file, at most. */
  readonly perFile: number;
  /** Whether a text without a match in the whole has none in a line either. */
  readonly canSkip: boolean;
  /** Counts the files begun; the main thread watches it. */
  readonly progress: Int32Array;
}

export interface FoundLine {
  /** Counted from 1. */
  readonly line: number;
  readonly text: string;
  readonly isMatch: boolean;
}

export interface FoundFile {
  readonly name: string;
  readonly lines: readonly FoundLine[];
  /** Whether the rest of the file was not looked at: it is too large, or there were enough matches. */
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
  readonly binary: number;
  readonly unreadable: number;
  readonly cut: number;
}

interface LineCollector {
  readonly lines: FoundLine[];
  /** False once there are enough. `isCut`: there is more of the line. */
  take(line: string, isCut?: boolean): boolean;
}

/** Collects the lines of one file that match, and those around them. */
export function lineCollector(hunt: Hunt, pattern: RegExp): LineCollector {
  const lines: FoundLine[] = [];
  const recent: FoundLine[] = [];
  let number = 0;
  let owed = 0;
  let matches = 0;
  const shown = (line: string, at: number): string => {
    if (line.length <= 500) return line.endsWith('\r') ? line.slice(0, -1) : line;
    const from = Math.max(0, Math.min(at - 100, line.length - 500));
    return `${from > 0 ? '…' : ''}${line.slice(from, from + 500)}… [line cut, ${line.length} characters]`;
  };
  const placeIn = (line: string, isCut: boolean): number => {
    const text = hunt.isFolded ? line.toLowerCase() : line;
    if (!isCut) return text.search(pattern);
    // What holds only because the line seems to end there does not hold a little earlier.
    const [found, earlier] = [text, text.slice(0, -1)].map((each) => pattern.exec(each));
    return found && earlier && found.index === earlier.index && found[0] === earlier[0] ? found.index : -1;
  };
  return {
    lines,
    take: (line, isCut = false) => {
      number += 1;
      const at = matches < hunt.perFile ? placeIn(line, isCut) : -1;
      if (at !== -1) {
        matches += 1;
        lines.push(...recent.splice(0), { line: number, text: shown(line, at), isMatch: true });
        owed = hunt.after;
      } else if (owed > 0) {
        owed -= 1;
        lines.push({ line: number, text: shown(line, 0), isMatch: false });
      } else if (hunt.before > 0) {
        recent.push({ line: number, text: shown(line, 0), isMatch: false });
        if (recent.length > hunt.before) recent.shift();
      }
      return matches < hunt.perFile || owed > 0;
    },
  };
}

type Fs = typeof import('node:fs');

interface CutLine {
  readonly text: string;
  /** Whether there is more of it. */
  readonly isCut: boolean;
}

/** The lines of a file that is too large to be read whole: at most 64 MB of it, and 1 MB of each line. */
export function* linesOf(fs: Fs, fd: number, progress: Int32Array): Generator<CutLine, boolean> {
  const PIECE = 1_048_576;
  const buffer = Buffer.allocUnsafe(PIECE);
  let held: Buffer[] = [];
  let size = 0;
  let isCut = false;
  const line = (end: Buffer, hasMore: boolean): CutLine => ({
    text: Buffer.concat([...held, end.subarray(0, Math.max(0, PIECE - size))]).toString(),
    isCut: hasMore || size + end.length > PIECE,
  });
  for (let position = 0; ; position += PIECE) {
    Atomics.add(progress, 0, 1);
    const piece = buffer.subarray(0, fs.readSync(fd, buffer, 0, PIECE, position));
    let from = 0;
    for (let feed = piece.indexOf(10); feed !== -1; feed = piece.indexOf(10, from)) {
      const next = line(piece.subarray(from, feed), false);
      isCut ||= next.isCut;
      yield next;
      held = [];
      size = 0;
      from = feed + 1;
    }
    if (size < PIECE) held.push(Buffer.from(piece.subarray(from)));
    size += piece.length - from;
    if (piece.length === PIECE && position < 63 * PIECE) continue;
    const hasMore = piece.length === PIECE;
    if (size > 0) yield line(Buffer.alloc(0), hasMore);
    return isCut || size > PIECE || hasMore;
  }
}

interface Looked {
  readonly kind: 'text' | 'binary' | 'irregular';
  readonly lines: readonly FoundLine[];
  readonly isCut: boolean;
}

interface Parts {
  readonly lineCollector: typeof lineCollector;
  readonly linesOf: typeof linesOf;
  readonly lookThrough: typeof lookThrough;
}

/** Looks through one file of any kind, without waiting for it. Throws the system's errors. */
export function lookThrough(fs: Fs, hunt: Hunt, pattern: RegExp, path: string, parts: Parts): Looked {
  const { O_RDONLY, O_NONBLOCK = 0, O_NOFOLLOW = 0, O_NOCTTY = 0 } = fs.constants;
  const fd = fs.openSync(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
  try {
    const status = fs.fstatSync(fd);
    if (!status.isFile()) return { kind: 'irregular', lines: [], isCut: false };
    const collector = parts.lineCollector(hunt, pattern);
    const head = Buffer.allocUnsafe(Math.min(status.size, 4_194_304));
    const bytes = head.subarray(0, status.size === 0 ? 0 : fs.readSync(fd, head, 0, head.length, 0));
    const isWide = bytes[0] === 0xff && bytes[1] === 0xfe;
    if (!isWide && bytes.subarray(0, 8192).includes(0)) return { kind: 'binary', lines: [], isCut: false };
    if (status.size > head.length) {
      const lines = parts.linesOf(fs, fd, hunt.progress);
      for (let next = lines.next(); ; next = lines.next()) {
        if (next.done === true) return { kind: 'text', lines: collector.lines, isCut: next.value };
        if (!collector.take(next.value.text, next.value.isCut))
          return { kind: 'text', lines: collector.lines, isCut: true };
      }
    }
    const text = isWide ? bytes.toString('utf16le', 2) : bytes.toString('utf8');
    if (hunt.canSkip && !pattern.test(hunt.isFolded ? text.toLowerCase() : text))
      return { kind: 'text', lines: [], isCut: false };
    const lines = text.split('\n');
    if (lines.at(-1) === '') lines.pop();
    const isCut = !lines.every((line) => collector.take(line));
    return { kind: 'text', lines: collector.lines, isCut };
  } finally {
    fs.closeSync(fd);
  }
}

/** The worker itself: does one task after the other. */
export function serve(load: (name: string) => unknown, parts: Parts): void {
  const fs = load('node:fs') as Fs;
  const { parentPort, workerData } = load('node:worker_threads') as typeof import('node:worker_threads');
  const hunt = workerData as Hunt;
  // Patterns that would take for ever go on in an engine that never does; what that cannot do, the main thread ends.
  const v8 = load('node:v8') as typeof import('node:v8');
  v8.setFlagsFromString('--enable-experimental-regexp-engine-on-excessive-backtracks');
  const pattern = new RegExp(hunt.source, hunt.flags);
  parentPort?.on('message', ({ id, address, files }: Task) => {
    const found: FoundFile[] = [];
    const counts = { binary: 0, irregular: 0, text: 0, cut: 0 };
    for (const [index, name] of files.entries()) {
      Atomics.add(hunt.progress, 0, 1);
      Atomics.store(hunt.progress, 1, index);
      try {
        const { kind, lines, isCut } = parts.lookThrough(fs, hunt, pattern, `${address}/${name}`, parts);
        counts[kind] += 1;
        if (isCut && lines.length === 0) counts.cut += 1;
        if (lines.length > 0) found.push({ name, lines, isCut });
      } catch {
        counts.irregular += 1;
      }
    }
    parentPort.postMessage({ id, found, binary: counts.binary, unreadable: counts.irregular, cut: counts.cut });
  });
}
