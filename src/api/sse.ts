import { AppError } from '../core/error.ts';
import type { HttpBody, HttpResponse, Trace } from '../core/io.ts';
import { tryParseJson } from '../core/json.ts';

/** Of one event. Empty lines count too: each takes more memory than its bytes. */
const MAX_LINES = 1_000_000;

export interface SseOptions {
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
  const { now, contentIdleMs = 300_000, maxEventBytes = 64 * 1024 * 1024 } = options;
  const parser = createSseParser(maxEventBytes);
  const chunks = body[Symbol.asyncIterator]();
  let contentAt = now();
  try {
    for (;;) {
      let step: IteratorResult<Uint8Array>;
      try {
        step = await chunks.next();
      } catch (thrown) {
        if (!(thrown instanceof AppError) || thrown.fault !== 'api' || !options.isFinished?.()) throw thrown;
        options.trace?.(`after the finish reason: ${thrown.message}`);
        break;
      }
      if (step.done) break;
      const events = parser.push(step.value);
      if (events.length > 0) yield events;
      const time = now();
      if (parser.isInData() || events.length > 0) contentAt = time;
      else if (time - contentAt > contentIdleMs) throw onlyCommentsError();
      if (options.isFinished?.()) options.setIdleTimeout?.(GRACE_MS);
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
  push(chunk: Uint8Array): readonly string[];
  isInData(): boolean;
  end(): readonly string[];
}

function createSseParser(maxEventBytes: number): SseParser {
  const decoder = new TextDecoder();
  const lines = createLineSplitter(maxEventBytes);
  const fields = createFieldReader(maxEventBytes);
  const read = (text: string): string[] => {
    const events: string[] = [];
    for (const line of lines.push(text)) fields.read(line, events);
    return events;
  };
  return {
    push: (chunk) => read(decoder.decode(chunk, { stream: true })),
    isInData: () => fields.hasData() || lines.rest().startsWith('d'),
    end() {
      // A character that was cut off becomes U+FFFD.
      read(decoder.decode());
      const events = lines.rest() === '' ? [] : read('\n');
      const open = fields.open().filter((text) => text !== '');
      if (open.every((text) => isJson(text) || text.split('\n').every(isJson))) return [...events, ...open];
      throw new AppError('api', 'the answer was cut short in the middle of an event', {
        hint: 'Send the prompt again.',
        retry: {},
      });
    },
  };
}

interface LineSplitter {
  push(text: string): readonly string[];
  /** The beginning of the line that is not complete. */
  rest(): string;
}

/** A line ends with LF, CR or both, and may come in any number of pieces, which are joined once. */
function createLineSplitter(maxLength: number): LineSplitter {
  let pieces: string[] = [];
  let length = 0;
  let skipsLf = false;
  return {
    rest: () => pieces[0] ?? '',
    push(text) {
      if (text === '') return [];
      const lines = (skipsLf && text.startsWith('\n') ? text.slice(1) : text).split(/\r\n|\r|\n/);
      skipsLf = text.endsWith('\r');
      const last = lines.pop() ?? '';
      if (lines.length > 0) {
        lines[0] = [...pieces, lines[0]].join('');
        pieces = [];
        length = 0;
      }
      if (last !== '') pieces.push(last);
      length += last.length;
      if (length > maxLength) throw tooLargeEventError(maxLength);
      return lines;
    },
  };
}

interface FieldReader {
  read(line: string, events: string[]): void;
  /** The texts of an event, and of bare JSON, that are not complete yet. */
  open(): readonly string[];
  hasData(): boolean;
}

/** How often in a stream bare JSON is parsed to see whether it is complete; after that, once, at its end. */
const MAX_TRIALS = 16;

/** What tells bare JSON of the service from a line that the standard says to ignore. */
const MESSAGE = /"(?:error|candidates|response)"\s*:/;

function createFieldReader(maxEventBytes: number): FieldReader {
  let data: string[] = [];
  let bare: string[] = [];
  let size = 0;
  let trials = 0;

  function closeEvent(events: string[]): void {
    const text = data.join('\n');
    if (text !== '') events.push(text);
    data = [];
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

  function addLine(to: string[], line: string): void {
    size += line.length + (to.length > 0 ? 1 : 0);
    to.push(line);
    if (size > maxEventBytes || to.length > MAX_LINES) throw tooLargeEventError(maxEventBytes);
  }

  return {
    read(line, events) {
      if (line === '') closeEvent(events);
      else if (line === 'data' || line.startsWith('data:')) addLine(data, line.slice(line[5] === ' ' ? 6 : 5));
      // Lines after an opening brace are JSON; all others are ignored, as the standard says.
      else if (bare.length > 0) {
        if (!line.startsWith(':')) addLine(bare, line);
      } else if (line.startsWith('{') || line.startsWith('[')) {
        closeEvent(events);
        addLine(bare, line);
      }
    },
    open: () => [data.join('\n'), ...[bare.join('\n')].filter((text) => MESSAGE.test(text))],
    hasData: () => data.length > 0 || bare.length > 0,
  };
}

function isJson(text: string): boolean {
  return tryParseJson(text) !== undefined;
}

function tooLargeEventError(limit: number): AppError {
  return new AppError('api', `the server sent an event of more than ${Math.round(limit / 1024 / 1024)} MB`, {
    hint: 'Ask for a shorter answer, or check which server GOOGLE_GEMINI_BASE_URL names.',
  });
}
