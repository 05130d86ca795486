import { isAscii, isUtf8, transcode } from 'node:buffer';
import { AppError } from '../core/error.ts';
import type { HttpBody, HttpResponse, Trace } from '../core/io.ts';

const LF = 10;
const CR = 13;
const COLON = 58;
const SPACE = 32;
const LOWER_D = 100;
const BRACE = 123;
const BRACKET = 91;
const BOM = 0xfeff;

/** Empty lines count too: each takes more memory than its bytes. */
const MAX_LINES = 1_000_000;

export interface SseOptions {
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
  /** How long a stream may send only comments. The HTTP transport has its own timer for silence. */
  readonly contentIdleMs?: number;
  readonly maxEventBytes?: number;
  /** Whether the answer is complete, as far as its reader knows. Absent: it never is before the end. */
  readonly isFinished?: () => boolean;
  readonly setIdleTimeout?: HttpResponse['setIdleTimeout'];
  readonly trace?: Trace;
}

/** How long the server may keep the connection open after the answer is complete. */
const GRACE_MS = 1000;

/**
 * The `data` of each server-sent event, in batches as they arrive, however the bytes are split. A last event without
 * its blank line counts if it is complete JSON. Google may put an error into a stream as bare JSON, on lines without
 * `data:`; that counts as an event, too. Skips events without data. Throws AppError `api` if the stream ends inside an
 * event, if an event exceeds 64 MB, or if only comments arrive for 300 s; and for a lost connection, unless the answer
 * is complete.
 */
export async function* readSseEvents(body: HttpBody, options: SseOptions): AsyncGenerator<readonly string[], void> {
  const { now, contentIdleMs = 300_000, maxEventBytes = 64 * 1024 * 1024, isFinished = () => false } = options;
  const parser = createSseParser(maxEventBytes);
  const chunks = body[Symbol.asyncIterator]();
  let contentAt = now();
  try {
    for (;;) {
      let step: IteratorResult<Uint8Array>;
      try {
        step = await chunks.next();
      } catch (thrown) {
        if (!(thrown instanceof AppError) || thrown.fault !== 'api' || !isFinished()) throw thrown;
        options.trace?.(`after the finish reason: ${thrown.message}`);
        break;
      }
      if (step.done) break;
      const events: string[] = [];
      for (let chunk: Uint8Array | undefined = step.value; chunk !== undefined; chunk = body.takeArrived?.()) {
        parser.push(chunk, events);
      }
      if (events.length > 0) yield events;
      const time = now();
      if (parser.isInData() || events.length > 0) contentAt = time;
      else if (time - contentAt > contentIdleMs) throw onlyCommentsError();
      if (isFinished()) options.setIdleTimeout?.(GRACE_MS);
    }
    const last = parser.end();
    if (last.length > 0) yield last;
  } finally {
    await chunks.return?.();
  }
}

function onlyCommentsError(): AppError {
  return new AppError('api', 'the server keeps the connection open but sends no answer', {
    hint: 'Try again, or choose another model with -m.',
    retry: {},
  });
}

interface SseParser {
  push(chunk: Uint8Array, events: string[]): void;
  isInData(): boolean;
  /** The events that the end of the stream completes. */
  end(): readonly string[];
}

/**
 * Decodes complete lines only, so that no character is split, and all lines of a chunk at once, because decoding line
 * by line halves the speed.
 */
function createSseParser(maxEventBytes: number): SseParser {
  const rest = createLineBuffer(maxEventBytes);
  const fields = createFieldReader(maxEventBytes);
  const decode = createLineDecoder();

  function push(chunk: Uint8Array, events: string[]): void {
    const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const end = Math.max(bytes.lastIndexOf(LF), bytes.lastIndexOf(CR)) + 1;
    let start = 0;
    if (end > 0 && !rest.isEmpty()) {
      // Cut after the first LF or the first CR, whichever is later: only this part is copied.
      start = Math.max(bytes.indexOf(LF), bytes.indexOf(CR)) + 1;
      fields.read(decode(rest.complete(bytes.subarray(0, start))), events);
    }
    if (start < end) fields.read(decode(bytes.subarray(start, end)), events);
    rest.add(bytes.subarray(end));
  }

  function end(): readonly string[] {
    const events: string[] = [];
    if (!rest.isEmpty()) fields.read(`${decode(rest.complete(Buffer.alloc(0)))}\n`, events);
    const open = fields.open().filter((text) => text !== '');
    if (open.every((text) => isJson(text) || text.split('\n').every(isJson))) return [...events, ...open];
    throw new AppError('api', 'the answer was cut short in the middle of an event', {
      hint: 'Send the prompt again.',
      retry: {},
    });
  }

  return { push, end, isInData: () => fields.hasData() || rest.first() === LOWER_D };
}

/** Decodes complete lines. One path for each kind of text: in Node 20 `TextDecoder` takes ten times as long as these. */
function createLineDecoder(): (bytes: Buffer) => string {
  let decoder: TextDecoder | undefined;
  return (bytes) => {
    if (isAscii(bytes)) return bytes.toString('latin1');
    if (isUtf8(bytes)) return transcode(bytes, 'utf8', 'utf16le').toString('utf16le');
    decoder ??= new TextDecoder('utf-8', { ignoreBOM: true });
    return decoder.decode(bytes);
  };
}

interface FieldReader {
  read(text: string, events: string[]): void;
  /** The texts of an event, and of bare JSON, that are not complete yet. */
  open(): readonly string[];
  hasData(): boolean;
}

/** How often in a stream bare JSON is parsed to see whether it is complete; after that, once, at its end. */
const MAX_TRIALS = 16;

/** What tells bare JSON of the service from a line that the standard says to ignore. */
const MESSAGE = /"(?:error|candidates|response)"\s*:/;

function createFieldReader(maxEventBytes: number): FieldReader {
  let data: string | undefined;
  let more: string[] = [];
  let size = 0;
  let isFirst = true;
  const joinData = (): string | undefined => {
    if (data !== undefined && more.length > 0) data = [data, ...more].join('\n');
    more = [];
    return data;
  };
  let skipsLf = false;
  let bare: string[] = [];
  let trials = 0;

  function closeEvent(events: string[]): void {
    if (joinData()) events.push(data ?? '');
    data = undefined;
    if (bare.length > 0 && trials < MAX_TRIALS) {
      trials += 1;
      const json = bare.join('\n');
      if (isJson(json)) {
        if (MESSAGE.test(json)) events.push(json);
        bare = [];
      }
    }
    if (bare.length === 0) size = 0;
  }

  /** A line that is no field. Those after an opening brace are JSON; all others are ignored, as the standard says. */
  function readBareLine(text: string, from: number, to: number, events: string[]): void {
    const first = text.charCodeAt(from);
    if (bare.length === 0) {
      if (first !== BRACE && first !== BRACKET) return;
      closeEvent(events);
    } else if (first === COLON) return;
    bare.push(text.slice(from, to));
    size += to - from + 1;
    if (size > maxEventBytes || bare.length > MAX_LINES) throw tooLargeEventError(maxEventBytes);
  }

  function readLine(text: string, from: number, to: number, events: string[]): void {
    if (from === to) {
      closeEvent(events);
      return;
    }
    if (!text.startsWith('data', from) || (to !== from + 4 && text.charCodeAt(from + 4) !== COLON)) {
      readBareLine(text, from, to, events);
      return;
    }
    const start = from + (text.charCodeAt(from + 5) === SPACE ? 6 : 5);
    const value = text.slice(start, Math.max(start, to));
    if (data === undefined) data = value;
    else more.push(value);
    size += value.length + (more.length > 0 ? 1 : 0);
    if (size > maxEventBytes || more.length > MAX_LINES) throw tooLargeEventError(maxEventBytes);
  }

  function read(text: string, events: string[]): void {
    let start = isFirst && text.charCodeAt(0) === BOM ? 1 : 0;
    if (skipsLf && text.charCodeAt(0) === LF) start = 1;
    isFirst = false;
    let lf = findMark('\n', text, start);
    let cr = findMark('\r', text, start);
    for (let end = Math.min(lf, cr); end < text.length; end = Math.min(lf, cr)) {
      readLine(text, start, end, events);
      start = cr < lf && text.charCodeAt(end + 1) === LF ? end + 2 : end + 1;
      if (lf < start) lf = findMark('\n', text, start);
      if (cr < start) cr = findMark('\r', text, start);
    }
    skipsLf = text.charCodeAt(text.length - 1) === CR;
  }

  return {
    read,
    open: () => [joinData() ?? '', ...[bare.join('\n')].filter((text) => MESSAGE.test(text))],
    hasData: () => data !== undefined || bare.length > 0,
  };
}

function findMark(mark: string, text: string, start: number): number {
  const place = text.indexOf(mark, start);
  return place === -1 ? text.length : place;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function tooLargeEventError(limit: number): AppError {
  return new AppError('api', `the server sent an event of more than ${Math.round(limit / 1024 / 1024)} MB`, {
    hint: 'Ask for a shorter answer, or check which server GOOGLE_GEMINI_BASE_URL names.',
  });
}

interface LineBuffer {
  isEmpty(): boolean;
  first(): number | undefined;
  add(bytes: Buffer): void;
  /** The complete line, valid until the next `add`. */
  complete(tail: Buffer): Buffer;
}

/**
 * Buffers an incomplete line. Doubles its capacity as needed, so that many small chunks cost no more than a large one.
 */
function createLineBuffer(maxBytes: number): LineBuffer {
  let store = Buffer.alloc(0);
  let length = 0;
  function add(bytes: Buffer): void {
    if (bytes.length === 0) return;
    if (length + bytes.length > maxBytes) throw tooLargeEventError(maxBytes);
    if (length + bytes.length > store.length) {
      const larger = Buffer.allocUnsafe(Math.max(length + bytes.length, 2 * store.length, 4096));
      store.copy(larger, 0, 0, length);
      store = larger;
    }
    bytes.copy(store, length);
    length += bytes.length;
  }
  return {
    add,
    isEmpty: () => length === 0,
    first: () => (length === 0 ? undefined : store[0]),
    complete(tail) {
      add(tail);
      const line = store.subarray(0, length);
      length = 0;
      // Release the memory of one huge line.
      if (store.length > 1024 * 1024) store = Buffer.alloc(0);
      return line;
    },
  };
}
